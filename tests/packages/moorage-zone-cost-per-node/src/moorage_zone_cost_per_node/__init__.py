"""Prefers nodes in cheap zones: the form that looks at one node at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["ZoneCostPerNode"]


class ZoneCostPerNode(moorage.Plugin):
    """Scores nodes by the cost of their zone, and refuses those above the pod's label max-cost."""

    class Args(moorage.PluginArgs):
        """The cost of each zone."""

        cost: dict[str, float]

    args: Args

    @moorage.hookimpl
    def filter(self, pod: moorage.Pod, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Refuse nodes in zones that cost more than the pod allows."""
        limit = pod.metadata.labels.get("max-cost")
        if limit is not None and self._cost(node) > float(limit):
            return moorage.Verdict.unresolvable("node(s) were in zones too expensive")
        return None

    @moorage.hookimpl
    def score(self, node: moorage.NodeInfo) -> float:
        """Prefer the cheaper."""
        return -self._cost(node)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Give 100 to the cheapest."""
        return moorage.scale(scores)

    def _cost(self, node: moorage.NodeInfo) -> float:
        return self.args.cost.get(node.labels.get("topology.kubernetes.io/zone", ""), 0.0)
