"""Hard constraints: how many pods each domain has, and which nodes that leaves.

Rule (for every constraint): pods of the node's domain that match, plus 1 if the pod itself matches,
minus the fewest that match in any domain, is at most maxSkew. Domains are the values of the
topology key on nodes that count; the fewest are 0 where there are fewer domains than minDomains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.pod_topology_spread.constraints import Constraint
from moorage_builtin.pod_topology_spread.inclusion import Inclusion

__all__ = ["LACKS_KEY", "TOO_MANY", "HardState"]

TOO_MANY = 1
"""The node's domain has too many pods already."""
LACKS_KEY = 2
"""The node lacks the topology key."""

_NO_DOMAIN = np.iinfo(np.int64).max


class HardState:
    """The hard constraints of one pod, counted; `clone` before pods are added or removed."""

    def __init__(
        self, namespace: str, inclusion: Inclusion, counts: Sequence[_DomainCounts]
    ) -> None:
        self._namespace = namespace
        self._inclusion = inclusion
        self._counts = counts
        self._constraints = [one.constraint for one in counts]

    @classmethod
    def of(
        cls, pod: moorage.Pod, constraints: Sequence[Constraint], nodes: moorage.NodesView
    ) -> Self:
        """Count the pods of all domains; `nodes` are all nodes, as they are."""
        namespace, inclusion = pod.metadata.namespace, Inclusion(pod)
        included = inclusion.rows(nodes, constraints)
        return cls(
            namespace,
            inclusion,
            [
                _DomainCounts(constraint, namespace, nodes, rows)
                for constraint, rows in zip(constraints, included, strict=True)
            ],
        )

    def codes(self, nodes: moorage.NodesView) -> NDArray[np.int8] | None:
        """Judge rows: (n,) int8, 0 where they pass, by the first constraint that refuses.

        None: all pass. After `change`, `nodes` must be the rows that were changed.
        """
        found: NDArray[np.int8] | None = None
        for counts in self._counts:
            codes = counts.codes(nodes)
            found = codes if found is None else np.where(found, found, codes)
        return found

    def clone(self) -> Self:
        """Return a copy that may be changed."""
        counts = [copy(one) for one in self._counts]
        return type(self)(self._namespace, self._inclusion, counts)

    def change(
        self,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Iterable[moorage.PodInfo],
        by: int,
    ) -> None:
        """Reckon with pods that are added to rows (`by` 1) or taken off them (-1).

        Each row is a world of its own: what happens on it is seen by it alone. As in 1.36 every
        such pod makes a difference of one, also a terminating one, which is not counted before:
        a domain can have less than none.
        """
        same = [
            (position, info.pod)
            for position, info in zip(positions.tolist(), pods, strict=True)
            if info.pod.metadata.namespace == self._namespace
        ]
        if not same:
            return
        included = self._inclusion.rows(nodes, self._constraints)
        for counts, rows in zip(self._counts, included, strict=True):
            chosen = [position for position, pod in same if counts.constraint.selects(pod)]
            if rows is not None:
                chosen = [position for position in chosen if rows[position]]
            if chosen:
                counts.change(len(nodes), chosen, by)


class _DomainCounts:
    """One constraint's counts: `_table` (values + 1,) int64 of pods by code of the topology key.

    The last entry belongs to nodes without the key. `_changes` (n,) int64 is what each row's own
    domain has more or less in that row's world; None: nothing.
    """

    def __init__(
        self,
        constraint: Constraint,
        namespace: str,
        nodes: moorage.NodesView,
        rows: NDArray[np.bool_] | None,
    ) -> None:
        self.constraint = constraint
        labels = nodes.labels(constraint.key)
        size = len(labels.values) + 1
        codes = labels.codes if rows is None else labels.codes[rows]
        self._domains: NDArray[np.bool_] = np.bincount(codes, minlength=size) > 0
        self._table: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._changes: NDArray[np.int64] | None = None
        if not constraint.counts_nothing:
            matching = nodes.matching_pods(
                frozenset((namespace,)), constraint.selector, terminating=False
            )
            where = matching > 0 if rows is None else rows & (matching > 0)
            found = np.flatnonzero(where)
            # In float64, which holds whole numbers up to 2**53 exactly.
            self._table += np.bincount(
                labels.codes[found], weights=matching[found], minlength=size
            ).astype(np.int64)
        self._lowest = self._fewest()

    def codes(self, nodes: moorage.NodesView) -> NDArray[np.int8]:
        """Judge rows; (n,) int8."""
        codes = nodes.labels(self.constraint.key).codes
        room = self.constraint.max_skew - self.constraint.self_match
        if self._changes is None:
            judged = (self._table > room + self._lowest).astype(np.int8)
            judged[-1] = LACKS_KEY
            return judged[codes]
        if len(self._changes) != len(codes):
            raise ValueError(
                f"pods were changed on {len(self._changes)} rows, and {len(codes)} are asked about"
            )
        matching = self._table[codes] + self._changes
        refused = (matching > room + self._lowest_by_row(codes, matching)).astype(np.int8)
        refused[codes < 0] = LACKS_KEY
        return refused

    def change(self, count: int, positions: Sequence[int], by: int) -> None:
        """Count pods on rows, which all count for the constraint."""
        changes = np.zeros(count, dtype=np.int64) if self._changes is None else self._changes.copy()
        np.add.at(changes, positions, by)
        self._changes = changes

    @property
    def _is_short_of_domains(self) -> bool:
        return int(np.count_nonzero(self._domains)) < self.constraint.min_domains

    def _fewest(self) -> int:
        if self._is_short_of_domains:
            return 0
        return int(self._table[self._domains].min())

    def _lowest_by_row(
        self, codes: NDArray[np.int32], matching: NDArray[np.int64]
    ) -> NDArray[np.int64] | int:
        """Return the fewest pods of any domain in each row's world; `matching` its own domain's."""
        if self._is_short_of_domains:
            return 0
        domains = np.flatnonzero(self._domains)
        lowest = domains[np.argmin(self._table[domains])]
        others = domains[domains != lowest]
        second = self._table[others].min(initial=_NO_DOMAIN)
        elsewhere: NDArray[np.int64] = np.where(codes == lowest, second, self._table[lowest])
        own: NDArray[np.int64] = np.where(self._domains[codes], matching, _NO_DOMAIN)
        return np.minimum(elsewhere, own)
