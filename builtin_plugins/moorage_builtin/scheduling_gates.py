"""SchedulingGates: pods with gates wait until somebody removes them (KEP-3521)."""

from __future__ import annotations

import moorage
from moorage_builtin.hints import is_own_update

__all__ = ["SchedulingGates"]


class SchedulingGates(moorage.Plugin):
    """Keeps pods with ``spec.schedulingGates`` out of the active queue."""

    @moorage.hookimpl
    def pre_enqueue(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Refuse a pod that has a gate."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return moorage.Verdict.unresolvable(f"waiting for scheduling gates: [{names}]")

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when the pod's own gates are gone."""
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.UNSCHEDULED_POD,
                    moorage.ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                ),
                is_own_update,
            )
        ]
