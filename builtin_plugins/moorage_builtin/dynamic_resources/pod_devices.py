"""What is found out about one pod's devices in a cycle, node by node; equal nodes are searched once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import InvalidSelectorError
from moorage.model.devices import AllocationResult, ResourceClaim
from moorage_builtin.dynamic_resources.allocating import Found, Search
from moorage_builtin.dynamic_resources.arguments import DynamicResourcesArgs
from moorage_builtin.dynamic_resources.extended import NAME_IN_MEMORY, Served
from moorage_builtin.dynamic_resources.pod_claims import ClaimProblem, check_usable
from moorage_builtin.dynamic_resources.pools import DeviceKind, PoolView
from moorage_builtin.dynamic_resources.readiness import (
    BindingFailedError,
    is_overdue,
    is_ready,
)
from moorage_builtin.dynamic_resources.reckoner import reckoner_of
from moorage_builtin.dynamic_resources.results import allocation_of
from moorage_builtin.dynamic_resources.variants import Requests, Variant, Variants, requests_of
from moorage_builtin.dynamic_resources.wanted import Refused
from moorage_builtin.node_terms import NodeTerm, compile_term

__all__ = ["Allocated", "PodDevices"]

_HIGHEST_RANK = 8
"""What the first of several alternatives counts, the API's bound on their number."""
_NO_ROOM = "cannot allocate all claims"
_ELSEWHERE = "resourceclaim not available on the node"
_STALE = "cannot schedule extended resource claim"


class Allocated(NamedTuple):
    """What one claim gets on a node."""

    claim: ResourceClaim
    allocation: AllocationResult


class _Outcome(NamedTuple):
    """What came of a search: devices of each claim, or why there are none."""

    found: Sequence[Sequence[Found]] | None
    reason: str = ""


class _Passed(NamedTuple):
    """What is kept of a node that has devices for all claims."""

    variant: Variant
    outcome: _Outcome
    views: tuple[PoolView, ...]


class PodDevices:
    """One pod's claims in one cycle, and what each node that was asked about has for them."""

    def __init__(
        self,
        handle: moorage.Handle,
        pod: moorage.Pod,
        claims: Sequence[ResourceClaim],
        *,
        extended: ResourceClaim | None,
        resources: Collection[str],
        args: DynamicResourcesArgs,
    ) -> None:
        """Raise ClaimProblem where the claims cannot be allocated anywhere.

        `extended` is the claim for `resources`, those of the pod that stand for devices.
        """
        self.claims = [*claims, *([] if extended is None else [extended])]
        self.extended = extended
        self.unavailable: set[int] = set()
        """Places of claims that have devices which some node cannot use."""
        self.reasons: list[str] = []
        self._reckoner = reckoner_of(handle)
        self._handle = handle
        self._resources = sorted(resources)
        self._filter_timeout = args.filter_timeout
        self._selectors: dict[int, tuple[NodeTerm, ...]] = {}
        self._variants = Variants(self._reckoner, pod, self._check(pod))
        now = handle.wall()
        self._not_ready = {
            index
            for index, claim in enumerate(self.claims)
            if _is_stuck(claim, args.binding_timeout, now)
        }
        self._outcomes: dict[Any, _Outcome] = {}
        self._by_node: dict[str, _Passed] = {}
        self._reckoner.inventory.refresh()

    def _check(self, pod: moorage.Pod) -> list[tuple[ResourceClaim, Requests]]:
        """Return what is to be allocated, and note where what is allocated can be used."""
        wanted = []
        for index, claim in enumerate(self.claims):
            # One claim after the other: the first problem is the one that is told.
            check_usable(claim, pod, self._reckoner.ledger)
            if (selector := _selector(claim)) is not None:
                self._selectors[index] = selector
            if claim.status.allocation is None and claim is not self.extended:
                wanted.append((claim, requests_of(claim, self._reckoner)))
        return wanted

    # Filtering

    def codes(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Say for n nodes what keeps the pod off; (n,) int64, 0: nothing, else 1 + a reason's place.

        Only nodes that may have devices are looked at one by one: to all others one answer applies.
        """
        codes = np.zeros(len(nodes), dtype=np.int64)
        if self.extended is not None and self.extended.metadata.name != NAME_IN_MEMORY:
            codes[:] = self._code(_STALE)
            return codes
        for resources, rows in self._left(nodes):
            variant = self._variants.of(resources)
            if variant.problem:
                codes[rows] = self._code(variant.problem)
            elif variant.claims:
                codes[rows] = self._search(variant, nodes, np.flatnonzero(rows))
        elsewhere = self._elsewhere(nodes, codes == 0)
        if elsewhere.any():
            codes[elsewhere] = self._code(_ELSEWHERE)
        return codes

    def _left(self, nodes: moorage.NodesView) -> list[tuple[frozenset[str], NDArray[np.bool_]]]:
        """Return which resources n nodes leave to devices, each time with these nodes; (n,) bool."""
        groups = [(frozenset[str](), np.ones(len(nodes), dtype=np.bool_))]
        for name in self._resources:
            lacks = nodes.allocatable(name) == 0
            split = [
                part
                for left, rows in groups
                for part in ((left, rows & ~lacks), (left | {name}, rows & lacks))
            ]
            groups = [(left, rows) for left, rows in split if rows.any()]
        return groups

    def _elsewhere(self, nodes: moorage.NodesView, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say on which nodes, among some, a claim cannot be used that has devices; (n,) bool."""
        elsewhere = np.zeros(len(nodes), dtype=np.bool_)
        for index in self._selectors.keys() | self._not_ready:
            reached = np.zeros(len(nodes), dtype=np.bool_)
            if index not in self._not_ready:
                for term in self._selectors[index]:
                    reached |= term.rows(nodes)
            missed = among & ~reached
            if missed.any():
                self.unavailable.add(index)
                elsewhere |= missed
        return elsewhere

    def _search(
        self, variant: Variant, nodes: moorage.NodesView, positions: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Look for devices on the nodes at k positions; (k,) int64 codes."""
        may_have = np.isin(positions, self._reckoner.inventory.positions(nodes))
        codes = np.zeros(len(positions), dtype=np.int64)
        without = np.flatnonzero(~may_have)
        if without.size:
            codes[without] = self._ask(variant, nodes.node(int(positions[without[0]])))
            if not codes[without[0]]:
                # No devices are asked for: what passes is noted node by node.
                may_have[:] = True
        for place in np.flatnonzero(may_have).tolist():
            codes[place] = self._ask(variant, nodes.node(int(positions[place])))
        return codes

    def _ask(self, variant: Variant, node: moorage.Node) -> int:
        views = self._reckoner.inventory.views(node)
        outcome = self._outcome(variant, views)
        if outcome.found is None:
            return self._code(outcome.reason)
        self._by_node[node.metadata.name] = _Passed(variant, outcome, views)
        return 0

    def _outcome(self, variant: Variant, views: tuple[PoolView, ...]) -> _Outcome:
        ledger, inventory = self._reckoner.ledger, self._reckoner.inventory
        expressions = self._reckoner.expressions
        seen = [(view, ledger.state(view)) for view in views]

        def like(kind: DeviceKind) -> tuple[Any, ...]:
            return variant.likeness(kind, expressions)

        key = (
            variant.resources,
            *[(inventory.profile(view, variant.asked, like), state.key) for view, state in seen],
        )
        outcome = self._outcomes.get(key)
        if outcome is not None:
            return outcome
        clock, timeout = self._handle.clock, self._filter_timeout
        until = clock() + timeout
        search = Search(
            variant.claims,
            variant.wanted,
            seen,
            expressions=expressions,
            is_over=lambda: bool(timeout) and clock() > until,
        )
        try:
            found = search.run()
        except Refused as refusal:
            # It may name this node's own devices: the next node is searched for itself.
            return _Outcome(None, str(refusal))
        outcome = self._outcomes[key] = _Outcome(found, "" if found is not None else _NO_ROOM)
        return outcome

    def _code(self, reason: str) -> int:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return 1 + self.reasons.index(reason)

    # Scoring

    def scores(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Count how early the alternatives come that n nodes have devices for; (n,) int64."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        if not self._by_node:
            return scores
        fixed = sum(map(_rank_of_allocation, self.claims))
        ranks: dict[int, int] = {}
        for position, name in enumerate(nodes.names()):
            passed = self._by_node.get(name)
            if passed is not None:
                outcome = passed.outcome
                if id(outcome) not in ranks:
                    ranks[id(outcome)] = _rank(outcome)
                scores[position] = fixed + ranks[id(outcome)]
        return scores

    # Taking

    def allocations(self, node_name: str) -> list[Allocated]:
        """Return what the claims get on a node that was let pass; nothing where all have it."""
        passed = self._by_node.get(node_name)
        if passed is None:
            return []
        variant, outcome, views = passed
        assert outcome.found is not None  # noqa: S101 - only those are kept
        generator = self._handle.generator
        return [
            Allocated(
                claim,
                allocation_of(
                    claim,
                    variant.wanted[index],
                    outcome.found[index],
                    views=views,
                    node_name=node_name,
                    generator=generator,
                ),
            )
            for index, claim in enumerate(variant.claims)
        ]

    def served(self, node_name: str) -> tuple[Served, ...]:
        """Return which containers' resources the devices of a node stand for."""
        passed = self._by_node.get(node_name)
        return () if passed is None else passed.variant.served

    def devices_on(self, node_name: str) -> dict[str, list[tuple[str, str, str]]]:
        """Return the devices that claims would get on a node, by claim: for comparing and for people."""
        return {
            one.claim.metadata.name: [result.id for result in one.allocation.devices.results]
            for one in self.allocations(node_name)
        }


def _selector(claim: ResourceClaim) -> tuple[NodeTerm, ...] | None:
    allocation = claim.status.allocation
    if allocation is None or allocation.node_selector is None:
        return None
    try:
        return tuple(
            compile_term(term, field="status.allocation.nodeSelector")
            for term in allocation.node_selector.node_selector_terms
        )
    except InvalidSelectorError as error:
        raise ClaimProblem(f"resourceclaim {claim.key}: {error}") from error


def _is_stuck(claim: ResourceClaim, timeout: float, now: datetime) -> bool:
    """Say whether the devices of a claim will not become ready any more."""
    if claim.status.allocation is None:
        return False
    try:
        return not is_ready(claim) and is_overdue(claim, timeout, now)
    except BindingFailedError:
        return True


def _rank(outcome: _Outcome) -> int:
    chosen = {
        (index, one.request, one.alternative)
        for index, found in enumerate(outcome.found or ())
        for one in found
        if one.alternative >= 0
    }
    return sum(_HIGHEST_RANK - alternative for _, _, alternative in chosen)


def _rank_of_allocation(claim: ResourceClaim) -> int:
    """Count the alternatives of a claim that has its devices already."""
    got = {result.request for result in claim.results}
    return sum(
        _HIGHEST_RANK - place
        for request in claim.spec.devices.requests
        for place, one in enumerate(request.first_available)
        if f"{request.name}/{one.name}" in got
    )
