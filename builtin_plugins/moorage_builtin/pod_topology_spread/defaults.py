"""Constraints of pods that have none of their own, by what selects or controls them."""

from __future__ import annotations

import moorage
from moorage.model import (
    InvalidSelectorError,
    ReplicationController,
    Requirement,
    Selector,
    TopologySpreadConstraint,
    selector_of,
)
from moorage_builtin.pod_topology_spread.arguments import DefaultConstraint, PodTopologySpreadArgs
from moorage_builtin.pod_topology_spread.constraints import Constraints, compiled

__all__ = ["Defaults"]

_SYSTEM = (
    TopologySpreadConstraint(
        max_skew=3, topology_key="kubernetes.io/hostname", when_unsatisfiable="ScheduleAnyway"
    ),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    ),
)
"""What kube-scheduler has built in: soft, so that pods are spread where nothing speaks against it."""
_NOBODY = Selector()


class Defaults:
    """The default constraints of a profile.

    They apply to pods that a Service selects or that a ReplicationController, ReplicaSet or
    StatefulSet controls: whatever these select is what is spread.
    """

    def __init__(self, args: PodTopologySpreadArgs, handle: moorage.Handle) -> None:
        is_system = args.defaulting_type == "System"
        given = _SYSTEM if is_system else tuple(map(_record, args.default_constraints))
        self._hard = tuple(one for one in given if one.when_unsatisfiable == "DoNotSchedule")
        self._soft = tuple(one for one in given if one.when_unsatisfiable == "ScheduleAnyway")
        self._needs_all_keys = not is_system
        self._handle = handle

    @property
    def any_hard(self) -> bool:
        """Whether some of them keep pods off nodes."""
        return bool(self._hard)

    def constraints_of(self, pod: moorage.Pod) -> Constraints:
        """Compile the constraints of a pod that has none of its own."""
        if not self._hard and not self._soft:
            return Constraints()
        selector = self._selector(pod)
        if not selector.requirements:
            return Constraints()
        return Constraints(
            hard=tuple(compiled(one, selector, pod) for one in self._hard),
            soft=tuple(compiled(one, selector, pod) for one in self._soft),
            needs_all_keys=self._needs_all_keys,
        )

    def _selector(self, pod: moorage.Pod) -> Selector:
        """Combine the selectors of the services of a pod and of its controller."""
        workloads = self._handle.workloads
        services, controller = workloads.services_of(pod), workloads.controller_of(pod)
        if not services and controller is None:
            return _NOBODY
        labels: dict[str, str] = {}
        for service in services:
            labels.update(service.spec.selector or {})
        more: tuple[Requirement, ...] = ()
        if isinstance(controller, ReplicationController):
            labels.update(controller.spec.selector or {})
        elif controller is not None:
            try:
                more = selector_of(controller.spec.selector).requirements
            except InvalidSelectorError:
                more = ()  # of no use to anybody; the pod is not to suffer for it
        own = (Requirement(key, "In", frozenset((labels[key],))) for key in sorted(labels))
        return Selector(tuple(dict.fromkeys((*own, *more))))


def _record(constraint: DefaultConstraint) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        when_unsatisfiable=constraint.when_unsatisfiable,
        min_domains=constraint.min_domains,
        node_affinity_policy=constraint.node_affinity_policy,
        node_taints_policy=constraint.node_taints_policy,
    )
