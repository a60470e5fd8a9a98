"""What is found out about one pod's devices in a cycle, node by node; equal nodes are searched once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import InvalidSelectorError
from moorage.model.devices import AllocationResult, ResourceClaim
from moorage_builtin.dynamic_resources.allocating import Found, Search
from moorage_builtin.dynamic_resources.expressions import Expressions
from moorage_builtin.dynamic_resources.extended import NAME_IN_MEMORY, Served, requests_for
from moorage_builtin.dynamic_resources.inventory import Inventory
from moorage_builtin.dynamic_resources.ledger import Ledger
from moorage_builtin.dynamic_resources.pod_claims import ClaimProblem, check_usable
from moorage_builtin.dynamic_resources.pools import DeviceKind, PoolView
from moorage_builtin.dynamic_resources.readiness import (
    BindingFailedError,
    is_overdue,
    is_ready,
)
from moorage_builtin.dynamic_resources.results import allocation_of
from moorage_builtin.dynamic_resources.wanted import Refused, Wanted, wanted_of
from moorage_builtin.node_terms import NodeTerm, compile_term

__all__ = ["Allocated", "PodDevices", "Reckoner", "reckoner_of"]

_HIGHEST_RANK = 8
"""What the first of several alternatives counts, the API's bound on their number."""
_NO_ROOM = "cannot allocate all claims"
_ELSEWHERE = "resourceclaim not available on the node"
_STALE = "cannot schedule extended resource claim"


class Reckoner:
    """What all pods of a process are reckoned with: one for all profiles."""

    def __init__(self, devices: moorage.DeviceStore) -> None:
        self.classes = devices.classes
        self.claims = devices.claims
        self.ledger = Ledger(devices.claims)
        self.inventory = Inventory(devices.slices)
        self.expressions = Expressions()


def reckoner_of(handle: moorage.Handle) -> Reckoner:
    """Return the process's own, made when it is first asked for."""
    return handle.shared("DynamicResources", lambda: Reckoner(handle.devices))


class Allocated(NamedTuple):
    """What one claim gets on a node."""

    claim: ResourceClaim
    allocation: AllocationResult


class _Variant(NamedTuple):
    """The claims to be allocated, where a node leaves some resources to devices.

    `asked` is the inventory's number for all that tells devices apart for them: who selects them,
    and by which attributes they are compared.
    """

    claims: tuple[ResourceClaim, ...]
    wanted: tuple[tuple[tuple[Wanted, ...], ...], ...]
    served: tuple[Served, ...] = ()
    problem: str = ""
    asked: int = -1

    def with_asked(self, inventory: Inventory) -> _Variant:
        """Return it with `asked` filled in."""
        selectors = tuple(one.asked for one in self._all_wanted())
        return self._replace(asked=inventory.way_of_asking((selectors, tuple(self._attributes()))))

    def likeness(self, kind: DeviceKind, expressions: Expressions) -> tuple[Any, ...]:
        """Say of a kind of devices what tells it apart."""
        selected = tuple(one.likeness(kind, expressions) for one in self._all_wanted())
        return (*selected, *(kind.attribute(name) for name in self._attributes()))

    def _all_wanted(self) -> Iterator[Wanted]:
        for requests in self.wanted:
            for alternatives in requests:
                yield from alternatives

    def _attributes(self) -> Iterator[str]:
        for claim in self.claims:
            for constraint in claim.spec.devices.constraints:
                yield constraint.match_attribute or constraint.distinct_attribute or ""


class _Outcome(NamedTuple):
    """What came of a search: devices of each claim, or why there are none."""

    found: Sequence[Sequence[Found]] | None
    reason: str = ""


class PodDevices:
    """One pod's claims in one cycle, and what each node that was asked about has for them."""

    def __init__(
        self,
        reckoner: Reckoner,
        handle: moorage.Handle,
        pod: moorage.Pod,
        claims: Sequence[ResourceClaim],
        *,
        extended: ResourceClaim | None,
        resources: Mapping[str, int],
        filter_timeout: float,
        binding_timeout: float,
    ) -> None:
        """Raise ClaimProblem where the claims cannot be allocated anywhere."""
        self.pod = pod
        self.claims = [*claims, *([] if extended is None else [extended])]
        self.extended = extended
        self.unavailable: set[int] = set()
        """Places of claims that have devices which some node cannot use."""
        self.reasons: list[str] = []
        self._reckoner = reckoner
        self._handle = handle
        self._resources = sorted(resources)
        self._filter_timeout = filter_timeout
        wanted: list[tuple[ResourceClaim, tuple[tuple[Wanted, ...], ...]]] = []
        self._selectors: dict[int, tuple[NodeTerm, ...]] = {}
        for index, claim in enumerate(self.claims):
            # One claim after the other: the first problem is the one that is told.
            check_usable(claim, pod, reckoner.ledger)
            if (selector := _selector(claim)) is not None:
                self._selectors[index] = selector
            if claim.status.allocation is None and claim is not extended:
                wanted.append((claim, _wanted(claim, reckoner)))
        self._user_claims = tuple(claim for claim, _ in wanted)
        self._user_wanted = tuple(requests for _, requests in wanted)
        now = handle.wall()
        self._not_ready = {
            index
            for index, claim in enumerate(self.claims)
            if _is_stuck(claim, binding_timeout, now)
        }
        self._variants: dict[frozenset[str], _Variant] = {}
        self._outcomes: dict[Any, _Outcome] = {}
        self._by_node: dict[str, tuple[_Variant, _Outcome, tuple[PoolView, ...]]] = {}
        reckoner.inventory.refresh()

    # Filtering

    def codes(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Say for n nodes what keeps the pod off; (n,) int64, 0: nothing, else 1 + a reason's place."""
        codes = np.zeros(len(nodes), dtype=np.int64)
        if self.extended is not None and self.extended.metadata.name != NAME_IN_MEMORY:
            codes[:] = self._code(_STALE)
            return codes
        lacking = {name: nodes.allocatable(name) == 0 for name in self._resources}
        for position in range(len(nodes)):
            left = frozenset(name for name in self._resources if lacking[name][position])
            reason = self._ask(nodes.node(position), left)
            if reason:
                codes[position] = self._code(reason)
        return codes

    def _ask(self, node: moorage.Node, resources: frozenset[str]) -> str:
        """Return what keeps the pod off a node; an empty text: nothing."""
        variant = self._variant(resources)
        if variant.problem:
            return variant.problem
        unavailable = [
            index
            for index in range(len(self.claims))
            if index in self._not_ready
            or (
                index in self._selectors
                and not any(term.accepts(node) for term in self._selectors[index])
            )
        ]
        if variant.claims:
            views = self._reckoner.inventory.views(node)
            outcome = self._outcome(variant, resources, views)
            if outcome.found is None:
                return outcome.reason
            self._by_node[node.metadata.name] = (variant, outcome, views)
        if unavailable:
            self.unavailable.update(unavailable)
            return _ELSEWHERE
        return ""

    def _variant(self, resources: frozenset[str]) -> _Variant:
        variant = self._variants.get(resources)
        if variant is None:
            variant = self._variants[resources] = self._make_variant(resources)
        return variant

    def _make_variant(self, resources: frozenset[str]) -> _Variant:
        if not resources:
            variant = _Variant(self._user_claims, self._user_wanted)
            return variant.with_asked(self._reckoner.inventory)
        claim, served = requests_for(self.pod, resources, self._reckoner.classes)
        try:
            wanted = _wanted(claim, self._reckoner)
        except ClaimProblem as problem:
            return _Variant((), (), problem=str(problem))
        claims = (*self._user_claims, claim)
        variant = _Variant(claims, (*self._user_wanted, wanted), served)
        return variant.with_asked(self._reckoner.inventory)

    def _outcome(
        self, variant: _Variant, resources: frozenset[str], views: tuple[PoolView, ...]
    ) -> _Outcome:
        ledger, inventory = self._reckoner.ledger, self._reckoner.inventory
        expressions = self._reckoner.expressions
        seen = [(view, ledger.state(view)) for view in views]

        def like(kind: DeviceKind) -> tuple[Any, ...]:
            return variant.likeness(kind, expressions)

        key = (
            resources,
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
            expressions=self._reckoner.expressions,
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
        fixed = sum(_rank_of_allocation(claim) for claim in self.claims)
        ranks: dict[int, int] = {}
        scores = np.zeros(len(nodes), dtype=np.int64)
        for position in range(len(nodes)):
            entry = self._by_node.get(nodes.name(position))
            if entry is not None:
                outcome = entry[1]
                if id(outcome) not in ranks:
                    ranks[id(outcome)] = _rank(outcome)
                scores[position] = fixed + ranks[id(outcome)]
        return scores

    # Taking

    def allocations(self, node_name: str) -> list[Allocated]:
        """Return what the claims get on a node that was let pass; nothing where all have it."""
        entry = self._by_node.get(node_name)
        if entry is None:
            return []
        variant, outcome, views = entry
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
        entry = self._by_node.get(node_name)
        return () if entry is None else entry[0].served

    def devices_on(self, node_name: str) -> dict[str, list[tuple[str, str, str]]]:
        """Return the devices that claims would get on a node, by claim: for comparing and for people."""
        return {
            one.claim.metadata.name: [result.id for result in one.allocation.devices.results]
            for one in self.allocations(node_name)
        }


def _wanted(claim: ResourceClaim, reckoner: Reckoner) -> tuple[tuple[Wanted, ...], ...]:
    try:
        return tuple(
            wanted_of(claim, request, reckoner.classes) for request in claim.spec.devices.requests
        )
    except Refused as refusal:
        raise ClaimProblem(str(refusal)) from refusal


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
