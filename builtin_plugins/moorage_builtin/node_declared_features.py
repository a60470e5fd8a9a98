"""NodeDeclaredFeatures: pods that need a feature of kubelet go to nodes that declare it (KEP-5328)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["NodeDeclaredFeatures", "required_features"]

_LACKING = moorage.Verdict.unresolvable("node(s) didn't match Pod's required features")


class NodeDeclaredFeatures(moorage.Plugin):
    """Filters by ``status.declaredFeatures``."""

    filter_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the needed features matter."""
        return required_features(pod)

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Infer the needed features; skip pods that need none."""
        state["features"] = required_features(pod)
        return None if state["features"] else moorage.SKIP

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.bool_]:
        """Pass nodes that declare all of them; (n,) bool."""
        return nodes.declared_features.map(state["features"].issubset, np.bool_)

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods does not change a kubelet."""
        return _LACKING

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a node declares something else, or the pod changes."""
        action = moorage.ActionType
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.NODE,
                    action.ADD | action.UPDATE_NODE_DECLARED_FEATURE,
                ),
                _declares_something_else,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(moorage.EventResource.UNSCHEDULED_POD, action.UPDATE),
                _needs_something_else,
            ),
        ]


def required_features(pod: moorage.Pod) -> frozenset[str]:
    """Infer which features of kubelet a pod needs, by the names that nodes declare."""
    needed = set()
    if any(
        rule.action == "RestartAllContainers"
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for rule in container.restart_policy_rules
    ):
        needed.add("RestartAllContainersOnContainerExits")
    if pod.spec.host_network and pod.spec.host_users is False:
        needed.add("UserNamespacesHostNetworkSupport")
    return frozenset(needed)


def _declares_something_else(
    pod: moorage.Pod,  # noqa: ARG001 - a hint gets the waiting pod
    before: moorage.Node | None,
    after: moorage.Node | None,
) -> moorage.QueueingHint:
    """Retry on any change of what a node declares: whether it is enough, 1.36 leaves to the filter."""
    if after is None:
        return moorage.QueueingHint.SKIP
    if before is not None and before.status.declared_features == after.status.declared_features:
        return moorage.QueueingHint.SKIP
    return moorage.QueueingHint.QUEUE


def _needs_something_else(
    pod: moorage.Pod,  # noqa: ARG001 - a hint gets the waiting pod
    before: moorage.Pod | None,
    after: moorage.Pod | None,
) -> moorage.QueueingHint:
    if before is None or after is None or required_features(before) == required_features(after):
        return moorage.QueueingHint.SKIP
    return moorage.QueueingHint.QUEUE
