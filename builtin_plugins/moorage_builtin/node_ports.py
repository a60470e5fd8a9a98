"""NodePorts: two pods cannot have the same port of a host."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["NodePorts"]

_TAKEN = moorage.Verdict.unschedulable("node(s) didn't have free ports for the requested pod ports")
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for every address, nothing listens here


class NodePorts(moorage.Plugin):
    """Filters by the host ports of containers and sidecars."""

    filter_depends = moorage.Depends(pods=True)

    @moorage.hookimpl
    def sign(self, info: moorage.PodInfo) -> Hashable:
        """Only the wanted ports matter."""
        return info.host_ports

    @moorage.hookimpl
    def pre_filter(self, info: moorage.PodInfo) -> moorage.Verdict | None:
        """Skip pods that want none."""
        return None if info.host_ports else moorage.SKIP

    @moorage.hookimpl
    def filter_nodes(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Pass nodes on which all wanted ports are free; (n,) bool."""
        return ~nodes.port_conflicts(info.host_ports)

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting the pod that has the port helps."""
        return _TAKEN

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a pod with such a port goes, or a node comes."""
        action = moorage.ActionType
        return [
            moorage.EventHint(
                moorage.ClusterEvent(moorage.EventResource.ASSIGNED_POD, action.DELETE),
                _gives_back_a_port,
            ),
            moorage.EventHint(moorage.ClusterEvent(moorage.EventResource.NODE, action.ADD)),
        ]


def _gives_back_a_port(
    pod: moorage.Pod,
    before: moorage.Pod | None,
    after: moorage.Pod | None,  # noqa: ARG001 - a hint gets both versions
) -> moorage.QueueingHint:
    if before is None or not before.spec.node_name:
        return moorage.QueueingHint.SKIP
    wanted = moorage.PodInfo(pod).host_ports
    for ip, protocol, port in moorage.PodInfo(before).host_ports:
        for other in wanted:
            if (protocol, port) == (other.protocol, other.port) and (
                ip == other.ip or _EVERY_ADDRESS in {ip, other.ip}
            ):
                return moorage.QueueingHint.QUEUE
    return moorage.QueueingHint.SKIP
