"""Which events can let a pod in that hard constraints kept out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import moorage
from moorage.model import Taint, Workload
from moorage_builtin.pod_topology_spread.constraints import Constraint, InvalidConstraintError
from moorage_builtin.pod_topology_spread.inclusion import Inclusion

__all__ = ["Requeueing"]

_Standing: TypeAlias = tuple[tuple[tuple[str, bool], ...], tuple[Taint, ...]]

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP
_CONTROLLERS = ("replicationcontrollers.v1", "replicasets.v1.apps", "statefulsets.v1.apps")


class Requeueing:
    """The hints of one profile's plugin; `hard_of` compiles the hard constraints of a pod."""

    def __init__(self, hard_of: Callable[[moorage.Pod], Sequence[Constraint]]) -> None:
        self._hard_of = hard_of

    def hints(self, *, defaults_filter: bool) -> list[moorage.EventHint]:
        """List what helps; `defaults_filter`: some default constraint is hard."""
        action, resource = moorage.ActionType, moorage.EventResource
        # Other: a pod that is asked to end is no longer counted.
        of_pods = action.ADD | action.DELETE | action.UPDATE_POD_LABEL | action.UPDATE_OTHER
        own = action.UPDATE_POD_LABEL | action.UPDATE_POD_TOLERATION
        of_nodes = action.ADD | action.DELETE | action.UPDATE_NODE_LABEL | action.UPDATE_NODE_TAINT
        workloads = (resource.SERVICE, *_CONTROLLERS) if defaults_filter else ()
        return [
            _hint(resource.ASSIGNED_POD, of_pods, self.after_other_pod),
            _hint(resource.UNSCHEDULED_POD, own, self.after_own_update),
            _hint(resource.NODE, of_nodes, self.after_node),
            *(_hint(kind, action.ALL, after_workload) for kind in workloads),
        ]

    def after_other_pod(
        self, pod: moorage.Pod, before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        """Retry where a pod of the namespace begins or ceases to be counted, or to be selected.

        A pod that is asked to end ceases to be counted, and is selected until it is gone: both
        wake, the latter because 1.36 does.
        """
        other = after or before
        if other is None or other.metadata.namespace != pod.metadata.namespace:
            return _SKIP
        hard = self._hard(pod)
        if hard is None:
            return _SKIP
        if not hard or any(_concerns(one, before) != _concerns(one, after) for one in hard):
            return _QUEUE
        return _SKIP

    def after_own_update(
        self, pod: moorage.Pod, before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        """Retry where the pod's own labels or tolerations change what its constraints say."""
        if before is None or after is None or after.metadata.uid != pod.metadata.uid:
            return _SKIP
        was, now = self._hard(before), self._hard(after)
        if was != now:
            return _QUEUE
        tolerates_otherwise = before.spec.tolerations != after.spec.tolerations
        if now and tolerates_otherwise and any(one.honors_taints for one in now):
            return _QUEUE
        return _SKIP

    def after_node(
        self, pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
    ) -> moorage.QueueingHint:
        """Retry where a node comes to stand, or no longer stands, in a domain that counts."""
        hard = self._hard(pod)
        if hard is None:
            return _SKIP
        inclusion = Inclusion(pod)
        if not hard or _standing(hard, inclusion, before) != _standing(hard, inclusion, after):
            return _QUEUE
        return _SKIP

    def _hard(self, pod: moorage.Pod) -> Sequence[Constraint] | None:
        """Compile hard constraints; None where no event helps, since they are invalid."""
        try:
            return self._hard_of(pod)
        except InvalidConstraintError:
            return None


def after_workload(
    pod: moorage.Pod, before: Workload | None, after: Workload | None
) -> moorage.QueueingHint:
    """Retry pods of the namespace that have default constraints, or had."""
    workload = after or before
    if workload is None or workload.metadata.namespace != pod.metadata.namespace:
        return _SKIP
    return _SKIP if pod.spec.topology_spread_constraints else _QUEUE


def _hint(
    resource: str, action: moorage.ActionType, function: Callable[..., moorage.QueueingHint]
) -> moorage.EventHint:
    return moorage.EventHint(moorage.ClusterEvent(resource, action), function)


def _concerns(constraint: Constraint, pod: moorage.Pod | None) -> tuple[bool, bool]:
    """Say whether a constraint selects a pod, and whether it counts it."""
    if pod is None or not constraint.selects(pod):
        return False, False
    return True, pod.metadata.deletion_timestamp is None


def _standing(
    hard: Sequence[Constraint], inclusion: Inclusion, node: moorage.Node | None
) -> _Standing | None:
    """Say in which domains a node is and for which it counts; None where it lacks a key.

    With its taints, whether or not they are honored: 1.36 tries pods again on any change of them.
    """
    if node is None:
        return None
    labels = node.metadata.labels
    if any(one.key not in labels for one in hard):
        return None
    domains = tuple((labels[one.key], inclusion.accepts(node, one)) for one in hard)
    return domains, node.spec.taints
