"""NodeName: a pod that names its node goes there or nowhere."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["NodeName"]

_ANOTHER = moorage.Verdict.unresolvable("node(s) didn't match the requested node name")


class NodeName(moorage.Plugin):
    """Filters by ``spec.nodeName``."""

    filter_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the named node matters."""
        return pod.spec.node_name

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_] | None:
        """Pass the node that the pod names; (n,) bool."""
        if not pod.spec.node_name:
            return None
        passes = np.zeros(len(nodes), dtype=np.bool_)
        passes[nodes.positions([pod.spec.node_name])] = True
        return passes

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods does not rename a node."""
        return _ANOTHER

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when the named node appears."""
        return [
            moorage.EventHint(
                moorage.ClusterEvent(moorage.EventResource.NODE, moorage.ActionType.ADD),
                _is_named,
            )
        ]


def _is_named(
    pod: moorage.Pod,
    before: moorage.Node | None,  # noqa: ARG001 - a hint gets both versions
    after: moorage.Node | None,
) -> moorage.QueueingHint:
    if after is not None and after.metadata.name == pod.spec.node_name:
        return moorage.QueueingHint.QUEUE
    return moorage.QueueingHint.SKIP
