"""Prefers nodes in cheap zones: the array form."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["ZoneCost"]


class ZoneCost(moorage.Plugin):
    """Scores nodes by the cost of their zone, and refuses those above the pod's label max-cost."""

    class Args(moorage.PluginArgs):
        """The cost of each zone."""

        cost: dict[str, float]

    args: Args
    filter_depends = moorage.Depends(node=True)
    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the pod's limit matters."""
        return pod.metadata.labels.get("max-cost")

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Pass nodes in zones that cost at most what the pod allows; (n,) bool."""
        limit = pod.metadata.labels.get("max-cost")
        return None if limit is None else self._costs(nodes) <= float(limit)

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods makes no zone cheaper."""
        return moorage.Verdict.unresolvable("node(s) were in zones too expensive")

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        """Prefer the cheaper; (n,) float64."""
        return -self._costs(nodes)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Give 100 to the cheapest."""
        return moorage.scale(scores)

    def _costs(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        return nodes.map_label("topology.kubernetes.io/zone", self.args.cost, default=0.0)
