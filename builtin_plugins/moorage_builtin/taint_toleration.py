"""TaintToleration: keeps pods off nodes whose taints they do not tolerate, and prefers few."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model.taints import KEEPS_OUT, untolerated
from moorage_builtin.hints import is_own_update

__all__ = ["TaintToleration"]

_PREFERS = frozenset({"PreferNoSchedule"})
_ON_THIS_NODE = moorage.Verdict.unresolvable("node(s) had untolerated taint(s)")


class TaintToleration(moorage.Plugin):
    """Filters by NoSchedule and NoExecute taints, scores by PreferNoSchedule ones."""

    filter_depends = moorage.Depends(node=True)
    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only tolerations matter."""
        return pod.spec.tolerations

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Pass nodes without a taint that keeps the pod out; (n,) bool."""
        tolerations = pod.spec.tolerations
        passes = nodes.taints.map(
            lambda taints: not untolerated(taints, tolerations, KEEPS_OUT), np.bool_, default=1
        )
        return None if np.count_nonzero(passes) == len(passes) else passes

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods does not remove a taint."""
        return _ON_THIS_NODE

    @moorage.hookimpl
    def pre_score(self, state: moorage.CycleState, pod: moorage.Pod) -> None:
        """Keep the tolerations that can tolerate a PreferNoSchedule taint."""
        state["tolerations"] = tuple(
            toleration
            for toleration in pod.spec.tolerations
            if toleration.effect in {"", "PreferNoSchedule"}
        )

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Count the PreferNoSchedule taints that the pod does not tolerate; (n,) int64."""
        tolerations = state["tolerations"]
        return nodes.taints.map(
            lambda taints: len(untolerated(taints, tolerations, _PREFERS)), np.int64
        )

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give 100 to nodes without such taints and 0 to those with most."""
        return moorage.scale(scores, reverse=True)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a node loses taints or the pod gains tolerations."""
        action = moorage.ActionType
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.NODE, action.ADD | action.UPDATE_NODE_TAINT
                ),
                _node_lets_in_now,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.UNSCHEDULED_POD, action.UPDATE_POD_TOLERATION
                ),
                is_own_update,
            ),
        ]


def _node_lets_in_now(
    pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
) -> moorage.QueueingHint:
    if after is None or untolerated(after.spec.taints, pod.spec.tolerations, KEEPS_OUT):
        return moorage.QueueingHint.SKIP
    if before is not None and not untolerated(before.spec.taints, pod.spec.tolerations, KEEPS_OUT):
        return moorage.QueueingHint.SKIP
    return moorage.QueueingHint.QUEUE
