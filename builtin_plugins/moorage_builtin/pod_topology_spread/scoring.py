"""Soft constraints: the fewer matching pods a node's domains have, the higher it scores."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.pod_topology_spread.constraints import Constraint, Constraints
from moorage_builtin.pod_topology_spread.inclusion import Inclusion, have_keys

__all__ = ["SoftState"]

_HOSTNAME = "kubernetes.io/hostname"
_HIGHEST = 100


class SoftState:
    """The soft constraints of one pod, counted.

    Raw scores are costs: for each constraint the matching pods of the node's domain times
    ln(domains + 2), which makes up for many small domains, plus maxSkew - 1.
    """

    def __init__(self, pod: moorage.Pod, constraints: Constraints) -> None:
        """Take a pod and its compiled constraints."""
        self._namespaces = frozenset((pod.metadata.namespace,))
        self._inclusion = Inclusion(pod)
        self._constraints = constraints.soft
        self._needs_all_keys = constraints.needs_all_keys
        self._weights: list[float] = []
        self._tables: list[NDArray[np.int64] | None] = []

    def count(self, passed: moorage.NodesView, all_nodes: moorage.NodesView) -> None:
        """Count the pods of all domains, and the domains of the nodes that `passed`."""
        included = self._inclusion.rows(all_nodes, self._constraints, all_keys=self._needs_all_keys)
        scored = self._scored(passed)
        self._weights = [math.log(self._size(one, passed, scored) + 2) for one in self._constraints]
        self._tables = [
            None if one.key == _HOSTNAME else self._table(one, all_nodes, rows)
            for one, rows in zip(self._constraints, included, strict=True)
        ]

    def raw(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Return the costs of nodes that passed; (n,) int64, 0 for nodes that are not scored."""
        costs = np.zeros(len(nodes), dtype=np.float64)
        for constraint, weight, table in zip(
            self._constraints, self._weights, self._tables, strict=True
        ):
            labels = nodes.labels(constraint.key)
            # A host is a domain of its own, whichever nodes count.
            matching = self._matching(constraint, nodes) if table is None else table[labels.codes]
            cost = matching * weight + (constraint.max_skew - 1)
            costs += np.where(labels.present, cost, 0.0)
        scored = self._scored(nodes)
        if scored is not None:
            costs[~scored] = 0.0
        return _rounded(costs)

    def normalized(self, costs: NDArray[np.int64], nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Turn costs into scores, 100 at most for the cheapest; (n,) int64, new."""
        scored = self._scored(nodes)
        counted = costs if scored is None else costs[scored]
        if not counted.size or counted.max() == 0:
            scores = np.full(len(costs), _HIGHEST, dtype=np.int64)
        else:
            lowest, highest = int(counted.min()), int(counted.max())
            scores = _HIGHEST * (highest + lowest - costs) // highest
        if scored is not None:
            scores[~scored] = 0
        return scores

    def _scored(self, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Say which nodes have all the keys they need; (n,) bool, None: all of them."""
        return have_keys(nodes, self._constraints) if self._needs_all_keys else None

    def _size(
        self, constraint: Constraint, passed: moorage.NodesView, scored: NDArray[np.bool_] | None
    ) -> int:
        """Count the domains among the nodes that passed; lacking the key is a domain, too."""
        if constraint.key == _HOSTNAME:
            return len(passed) if scored is None else int(np.count_nonzero(scored))
        labels = passed.labels(constraint.key)
        codes = _with_empty(labels)
        if scored is not None:
            codes = codes[scored]
        return int(np.count_nonzero(np.bincount(codes, minlength=len(labels.values) + 1)))

    def _table(
        self,
        constraint: Constraint,
        nodes: moorage.NodesView,
        rows: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        """Count the matching pods of each domain; (values + 1,) int64 by code."""
        labels = nodes.labels(constraint.key)
        matching = self._matching(constraint, nodes)
        found = np.flatnonzero(matching > 0 if rows is None else rows & (matching > 0))
        # In float64, which holds whole numbers up to 2**53 exactly.
        return np.bincount(
            _with_empty(labels)[found], weights=matching[found], minlength=len(labels.values) + 1
        ).astype(np.int64)

    def _matching(self, constraint: Constraint, nodes: moorage.NodesView) -> NDArray[np.int64]:
        if constraint.counts_nothing:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.matching_pods(self._namespaces, constraint.selector, terminating=False)


def _with_empty(labels: moorage.LabelColumnView[str]) -> NDArray[np.int32]:
    """Return codes >= 0 in which nodes without the key are in the domain of the empty value.

    Where no node has an empty value, that domain is the one after all others.
    """
    codes = labels.codes
    absent = codes < 0
    if not absent.any():
        return codes
    empty = labels.code("")
    return np.where(absent, len(labels.values) if empty < 0 else empty, codes)


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to the nearest whole number, halves up; (n,) int64. Numbers are not negative."""
    whole = np.floor(numbers)
    return (whole + (numbers - whole >= 0.5)).astype(np.int64)  # noqa: PLR2004 - a half
