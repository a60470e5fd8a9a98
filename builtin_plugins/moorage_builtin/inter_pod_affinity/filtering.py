"""What refuses a node: the pod's own required terms, and those of the pods that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import AffinityTerm, Selector, TermKind
from moorage_builtin.inter_pod_affinity.domains import DomainSums

__all__ = ["AFFINITY", "ANTI_AFFINITY", "EXISTING_ANTI_AFFINITY", "OwnTerm", "Rules"]

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 1, 2, 3
"""Codes of a refused node; of several the lowest counts, as in kube-scheduler."""


class OwnTerm(NamedTuple):
    """A term of the incoming pod, its namespaces (None: all) as they are selected now."""

    topology_key: str
    namespaces: frozenset[str] | None
    selector: Selector

    @classmethod
    def of(cls, term: AffinityTerm, nodes: moorage.NodesView) -> Self:
        """Look up which namespaces a term means."""
        if term.namespace_selector == Selector():
            return cls(term.topology_key, None, term.selector)
        chosen = nodes.namespaces_matching(term.namespace_selector)
        namespaces = term.namespaces | chosen if chosen else term.namespaces
        return cls(term.topology_key, namespaces, term.selector)

    def selects(self, pod: moorage.Pod) -> bool:
        """Say whether a pod is meant."""
        return (
            self.namespaces is None or pod.metadata.namespace in self.namespaces
        ) and self.selector.matches(pod.metadata.labels)

    def counts(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Count the pods that are meant; (n,) int64."""
        return nodes.matching_pods(self.namespaces, self.selector)


_Rule = tuple[int, str]
"""A code and a topology key. Pods near count for all keys at once: their key is empty."""
_NEAR: _Rule = (AFFINITY, "")


class Rules:
    """All that decides whether the pod may go to a node.

    `near` are the pods that meet all required terms at once, by topology key; `away` the pods that
    a required anti-affinity term means; `existing` the pods there with a term that means this pod.
    `with_pods` returns another one and leaves this one as it is.
    """

    def __init__(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> None:
        self._pod = info.pod
        self._namespace_labels = nodes.namespace_labels(info.pod.metadata.namespace)
        terms = info.affinity_terms
        self._affinity = [OwnTerm.of(term, nodes) for term in terms.affinity]
        self._anti_affinity = [OwnTerm.of(term, nodes) for term in terms.anti_affinity]
        self._near: list[DomainSums] = []
        self._near_count = 0
        if self._affinity:
            self._count_near(nodes)
        # A pod that meets its own terms may be the first of its kind, once there is none yet.
        self._starts_series = bool(self._affinity) and all(
            term.selects(info.pod) for term in self._affinity
        )
        self._away = _by_key(
            nodes, ((term.topology_key, term.counts(nodes)) for term in self._anti_affinity)
        )
        self._existing = _by_key(
            nodes,
            (
                (found.topology_key, found.counts)
                for found in nodes.terms_selecting(info.pod, TermKind.ANTI_AFFINITY)
            ),
        )
        # What hypothetical pods add to the counts of each row's own domains, (n,) int64. A row is
        # one question, asked as if only its own pods differed: two rows in one zone do not see
        # each other's.
        self._changes: dict[_Rule, NDArray[np.int64]] = {}

    def with_pods(
        self,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
        change: int,
    ) -> Self:
        """Return the rules as they would be with pods added (1) to rows, or taken off (-1)."""
        if not self._affinity and not self._anti_affinity:
            # Only pods that may have terms of their own matter.
            if isinstance(pods, moorage.PodsOnRows):
                pods = pods.take(pods.has_affinity)
                positions = pods.positions
            if not pods:
                return self
        changes = {rule: counts.copy() for rule, counts in self._changes.items()}
        for position, info in zip(positions.tolist(), pods, strict=True):
            for rule in self._touched_by(info):
                if rule not in changes:
                    changes[rule] = np.zeros(len(nodes), dtype=np.int64)
                changes[rule][position] += change
        other = copy(self)
        other._changes = changes  # noqa: SLF001 - of the same class
        return other

    def codes(self, nodes: moorage.NodesView) -> NDArray[np.int8] | None:
        """Say which rows are refused; (n,) int8, 0 where the pod may go; None: everywhere."""
        repelled = self._repelled(nodes, EXISTING_ANTI_AFFINITY, self._existing)
        if repelled is None and not self._affinity and not self._anti_affinity:
            return None
        codes = np.zeros(len(nodes), dtype=np.int8)
        if repelled is not None:
            codes[repelled] = EXISTING_ANTI_AFFINITY
        kept_away = self._repelled(nodes, ANTI_AFFINITY, self._away)
        if kept_away is not None:
            codes[kept_away] = ANTI_AFFINITY
        if self._affinity:
            codes[~self._meets_affinity(nodes)] = AFFINITY
        return codes

    def _touched_by(self, info: moorage.PodInfo) -> Iterator[_Rule]:
        """Say for which rules a pod on a node counts."""
        pod = info.pod
        if self._affinity and all(term.selects(pod) for term in self._affinity):
            yield _NEAR
        for own in self._anti_affinity:
            if own.selects(pod):
                yield ANTI_AFFINITY, own.topology_key
        if pod.spec.affinity is not None:
            for term in info.affinity_terms.anti_affinity:
                if term.selects(self._pod, self._namespace_labels):
                    yield EXISTING_ANTI_AFFINITY, term.topology_key

    def _repelled(
        self, nodes: moorage.NodesView, code: int, domains: Sequence[DomainSums]
    ) -> NDArray[np.bool_] | None:
        """Say which rows have a pod in one of their domains; None: there are no such pods."""
        changes = {key: counts for (rule, key), counts in self._changes.items() if rule == code}
        parts = []
        for sums in domains:
            counts = sums.on(nodes)
            if sums.key in changes:
                # On a node without the key a pod is in no domain.
                counts += changes.pop(sums.key) * nodes.labels(sums.key).present
            parts.append(counts > 0)
        parts.extend((counts > 0) & nodes.labels(key).present for key, counts in changes.items())
        return np.logical_or.reduce(parts) if parts else None

    def _count_near(self, nodes: moorage.NodesView) -> None:
        """Count the pods that all terms select: one pod must meet them all (A2)."""
        keys = dict.fromkeys(term.topology_key for term in self._affinity)
        both = _conjunction(self._affinity)
        counts = both.counts(nodes)
        self._near = [DomainSums.of(nodes, key, (counts,)) for key in keys]
        if any(sums.in_any for sums in self._near):
            in_domain = np.logical_or.reduce([nodes.labels(key).present for key in keys])
            self._near_count = int(counts[in_domain].sum())

    def _meets_affinity(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        change = self._changes.get(_NEAR)
        near = np.ones(len(nodes), dtype=np.bool_)
        for sums in self._near:
            found = sums.on(nodes)
            if change is not None:
                found += change
            near &= found > 0
        if self._starts_series:
            count = self._near_count if change is None else self._near_count + change
            # The first of a series needs no other pod, but a node with the keys (A4).
            near |= np.equal(count, 0)
        for sums in self._near:
            near &= nodes.labels(sums.key).present
        return near


def _conjunction(terms: Sequence[OwnTerm]) -> OwnTerm:
    """Return a term that selects what all of them select."""
    first = terms[0]
    if len(terms) == 1:
        return first
    named = [term.namespaces for term in terms if term.namespaces is not None]
    # Equal requirements once, in an order of their own: the counts are kept by selector.
    needed = dict.fromkeys(part for term in terms for part in term.selector.requirements)
    return OwnTerm(
        first.topology_key,
        frozenset.intersection(*named) if named else None,
        Selector(tuple(needed), nothing=any(term.selector.nothing for term in terms)),
    )


def _by_key(
    nodes: moorage.NodesView, counted: Iterable[tuple[str, NDArray[np.int64]]]
) -> list[DomainSums]:
    arrays: dict[str, list[NDArray[np.int64]]] = {}
    for key, counts in counted:
        arrays.setdefault(key, []).append(counts)
    found = [DomainSums.of(nodes, key, counts) for key, counts in arrays.items()]
    return [sums for sums in found if sums.in_any]
