"""What makes a node better or worse: preferred terms, the pod's own and those of pods there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import TermKind
from moorage_builtin.inter_pod_affinity.domains import DomainSums
from moorage_builtin.inter_pod_affinity.filtering import OwnTerm

__all__ = ["Attraction", "spread"]

_Weighted = tuple[str, NDArray[np.int64]]
"""A topology key, and weight times pods by row; (n,) int64."""


class Attraction:
    """Weights by topology domain; empty where no pod matters to this one, nor the other way."""

    def __init__(
        self, info: moorage.PodInfo, nodes: moorage.NodesView, *, hard_weight: int
    ) -> None:
        """Sum over `nodes`, which are all nodes of the cluster.

        `hard_weight` is what a required affinity term of a pod there counts.
        """
        arrays: dict[str, list[NDArray[np.int64]]] = {}
        for key, weighted in (
            *_own(info, nodes),
            *_existing(info, nodes, hard_weight=hard_weight),
        ):
            arrays.setdefault(key, []).append(weighted)
        found = [DomainSums.of(nodes, key, weighted) for key, weighted in arrays.items()]
        self._domains = [sums for sums in found if sums.in_any]

    @property
    def is_none(self) -> bool:
        """Whether nothing attracts or repels, anywhere."""
        return not self._domains

    def scores(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Sum the weights of each row's domains; (n,) int64, may be below 0."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        for sums in self._domains:
            scores += sums.on(nodes)
        return scores


def spread(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spread scores from lowest (0) to highest (100), rounded down; all 0 where they are equal."""
    if not scores.size:
        return np.zeros(0, dtype=np.int64)
    lowest = scores.min()
    difference = scores.max() - lowest
    if not difference:
        return np.zeros(len(scores), dtype=np.int64)
    # Truncated, in the same order of float64 operations as kube-scheduler's.
    spread_out: NDArray[np.float64] = 100.0 * ((scores - lowest) / difference)
    return spread_out.astype(np.int64)


def _own(info: moorage.PodInfo, nodes: moorage.NodesView) -> Iterator[_Weighted]:
    for term in info.affinity_terms.preferred:
        yield term.topology_key, term.weight * OwnTerm.of(term, nodes).counts(nodes)


def _existing(
    info: moorage.PodInfo, nodes: moorage.NodesView, *, hard_weight: int
) -> Iterator[_Weighted]:
    for found in nodes.terms_selecting(info.pod, TermKind.PREFERRED):
        yield found.topology_key, found.weight * found.counts
    if hard_weight:
        for found in nodes.terms_selecting(info.pod, TermKind.AFFINITY):
            yield found.topology_key, hard_weight * found.counts
