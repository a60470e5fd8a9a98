"""NodeUnschedulable: keeps pods off cordoned nodes, but for those that tolerate it."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import Taint
from moorage.model.taints import tolerates

__all__ = ["NodeUnschedulable"]

_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_CORDONED = moorage.Verdict.unresolvable("node(s) were unschedulable")


class NodeUnschedulable(moorage.Plugin):
    """Filters nodes with ``spec.unschedulable``."""

    filter_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only whether the pod tolerates a cordon matters."""
        return _tolerates_cordon(pod)

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Pass nodes that are not cordoned; (n,) bool."""
        cordoned = nodes.unschedulable
        if not cordoned.any() or _tolerates_cordon(pod):
            return None
        return ~cordoned

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods does not uncordon a node."""
        return _CORDONED

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a node is uncordoned or the pod gains tolerations."""
        action = moorage.ActionType
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.NODE, action.ADD | action.UPDATE_NODE_TAINT
                ),
                _node_is_open_now,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.UNSCHEDULED_POD, action.UPDATE_POD_TOLERATION
                ),
                _tolerates_it_now,
            ),
        ]


def _tolerates_cordon(pod: moorage.Pod) -> bool:
    return any(tolerates(toleration, _TAINT) for toleration in pod.spec.tolerations)


def _tolerates_it_now(
    pod: moorage.Pod,
    before: moorage.Pod | None,  # noqa: ARG001 - a hint gets both versions
    after: moorage.Pod | None,
) -> moorage.QueueingHint:
    """Retry a pod that came to tolerate a cordon; other tolerations do not help it."""
    own = after is not None and after.metadata.uid == pod.metadata.uid
    if after is not None and own and _tolerates_cordon(after):
        return moorage.QueueingHint.QUEUE
    return moorage.QueueingHint.SKIP


def _node_is_open_now(
    pod: moorage.Pod,  # noqa: ARG001 - a hint gets the waiting pod
    before: moorage.Node | None,
    after: moorage.Node | None,
) -> moorage.QueueingHint:
    was_open = before is not None and not before.spec.unschedulable
    is_open = after is not None and not after.spec.unschedulable
    if is_open and not was_open:
        return moorage.QueueingHint.QUEUE
    return moorage.QueueingHint.SKIP
