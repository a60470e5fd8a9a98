"""Plugins of every kind that the cycle treats in a way of its own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["KINDS"]


def _label(pod: moorage.Pod, key: str) -> str:
    return pod.metadata.labels.get(key, "")


class Crowded(moorage.Plugin):
    """Signs some pods: those without the label ``odd``. Refuses nodes with many pods."""

    filter_depends = moorage.Depends(node=True, pods=True)
    score_depends = moorage.Depends(pods=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the limit matters."""
        return None if _label(pod, "odd") else _label(pod, "limit")

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.int64] | None:
        """Refuse with the number of pods as code; say nothing where all pass."""
        limit = int(_label(pod, "limit") or 3)
        codes = np.where(nodes.pod_count >= limit, nodes.pod_count, 0)
        return codes if codes.any() else None

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Name the number of pods."""
        return moorage.Verdict.unschedulable(f"{code} pods are too many")

    @moorage.hookimpl
    def score_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.int64] | int:
        """Prefer few pods, where the pod says how many are too many."""
        return nodes.pod_count.copy() if _label(pod, "limit") else 7

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scale; what nobody scored would have 100."""
        return moorage.scale(scores, reverse=True)


class Unsigned(moorage.Plugin):
    """Signs nothing: filters by one label and scores by another."""

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Refuse the zone that the pod avoids."""
        return ~nodes.labels("zone").equals(_label(pod, "avoids"))

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        """Prefer some disks, in fractions."""
        return nodes.map_label("disk", {"a": 0.25, "b": 1.5}, default=-1.0)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Scale."""
        return moorage.scale(scores)


class OneByOne(moorage.Plugin):
    """Signs, and takes nodes one at a time; names node and pods in what it says."""

    filter_depends = moorage.Depends(node=True, pods=True)
    score_depends = moorage.Depends(node=True, pods=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only what the pod dislikes matters."""
        return _label(pod, "dislikes")

    @moorage.hookimpl
    def filter(self, pod: moorage.Pod, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Refuse nodes with a pod that this one dislikes."""
        names = [other.metadata.name for other in node.pods if _label(other, "limit") == "2"]
        if _label(pod, "dislikes") and names:
            return moorage.Verdict.unresolvable(f"{len(names)} limited on {node.name}")
        return None

    @moorage.hookimpl
    def score(self, node: moorage.NodeInfo) -> int:
        """Prefer nodes with labels."""
        return 10 * len(node.labels) + len(node.pods)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scale."""
        return moorage.scale(scores, reverse=True)


class UnsignedOneByOne(moorage.Plugin):
    """Signs nothing and takes nodes one at a time; sees pods that are only expected."""

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Keep a count of pods by row; skip pods without the label."""
        state["added"] = {}
        return None if _label(pod, "odd") else moorage.SKIP

    @moorage.hookimpl
    def add_pods(
        self,
        state: moorage.CycleState,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count what is added to each row, in a dictionary of this state's own."""
        added = dict(state["added"])
        for position in positions.tolist():
            added[position] = added.get(position, 0) + 1
        state["added"] = added

    @moorage.hookimpl
    def filter(self, state: moorage.CycleState, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Refuse nodes that expect two pods, and those with rank 7."""
        if state["added"].get(node.position, 0) >= 2:
            return moorage.Verdict.unschedulable("two are expected")
        if node.labels.get("rank") == "7":
            return moorage.Verdict.pending("rank 7")
        return None


class Names(moorage.Plugin):
    """Names nodes in PreFilter, and refuses some pods there."""

    filter_depends = moorage.Depends(facts=("nodes",))

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only what is asked of this plugin matters."""
        return _label(pod, "names")

    @moorage.hookimpl
    def pre_filter(
        self, pod: moorage.Pod, nodes: moorage.NodesView
    ) -> moorage.Verdict | list[str] | None:
        """Follow the label: names, none, a refusal, or nothing to say."""
        asked = _label(pod, "names")
        if asked == "refuse":
            return moorage.Verdict.unschedulable("refused before any node was looked at")
        if asked == "first":
            return sorted(nodes.names())[:2]
        return asked.split(",") if asked else None


class Plain(moorage.Plugin):
    """Scores without normalising; skips pods without the label, and depends on nothing."""

    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only whether the pod is scored matters."""
        return _label(pod, "avoids")

    @moorage.hookimpl
    def pre_score(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Skip pods that avoid nothing."""
        return None if _label(pod, "avoids") else moorage.SKIP

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Give 40 to nodes of zone a."""
        return np.where(nodes.labels("zone").equals("a"), 40, 0)


class Changing(moorage.Plugin):
    """Answers None, bool or float as the rows have it; depends on the set of nodes as well."""

    filter_depends = moorage.Depends(node=True, facts=("nodes",))
    score_depends = moorage.Depends(node=True, pods=True, facts=("nodes",))

    @moorage.hookimpl
    def sign(self) -> Hashable:
        """All pods look the same."""
        return ()

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Refuse nodes with rank -3, once there are four nodes."""
        if nodes.cluster_size < 4:
            return None
        passes = ~nodes.labels("rank").equals("-3")
        return None if passes.all() else passes

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.int64] | NDArray[np.float64]:
        """Give the same numbers as integers or as floats, as the rows have it."""
        count = nodes.pod_count
        return count.copy() if (count == 1).all() else count.astype(np.float64)

    @moorage.hookimpl
    def normalize_scores(
        self, scores: NDArray[np.float64], nodes: moorage.NodesView
    ) -> NDArray[np.int64]:
        """Scale, whatever the type; the view has the same rows."""
        assert len(scores) == len(nodes)
        return moorage.scale(scores.astype(np.float64), reverse=True)


KINDS: dict[str, type[moorage.Plugin]] = {
    "Changing": Changing,
    "Crowded": Crowded,
    "Names": Names,
    "OneByOne": OneByOne,
    "Plain": Plain,
    "Unsigned": Unsigned,
    "UnsignedOneByOne": UnsignedOneByOne,
}
