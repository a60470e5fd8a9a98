"""The hooks of DefaultPreemption."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

import moorage
from moorage_builtin.default_preemption.choosing import cheapest
from moorage_builtin.default_preemption.execution import Execution, is_preempted
from moorage_builtin.default_preemption.searching import Search

__all__ = ["DefaultPreemption", "DefaultPreemptionArgs"]

_NEVER = "not eligible due to preemptionPolicy=Never."
_TERMINATING = "not eligible due to a terminating pod on the nominated node."
# Without a reason, so that the pod goes on showing whom the preemption makes room on.
_RUNNING = moorage.Verdict.unresolvable()


class DefaultPreemptionArgs(moorage.PluginArgs):
    """Arguments of DefaultPreemption."""

    min_candidate_nodes_percentage: int = Field(
        default=10,
        ge=0,
        le=100,
        strict=True,
        description="Percent of the nodes where preemption may help that are compared at least.",
    )
    min_candidate_nodes_absolute: int = Field(
        default=100, ge=0, strict=True, description="Number of nodes that are compared at least."
    )

    @model_validator(mode="after")
    def _compares_some(self) -> Self:
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            raise ValueError(
                "minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be 0"
            )
        return self


class DefaultPreemption(moorage.Plugin):
    """Makes room for a pod that fits nowhere, by deleting pods of lower priority.

    While that is going on at the API server, the pod is kept out of the active queue.
    """

    Args = DefaultPreemptionArgs
    watches = ("poddisruptionbudgets",)

    def __init__(self, args: DefaultPreemptionArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._percentage = args.min_candidate_nodes_percentage
        self._absolute = args.min_candidate_nodes_absolute
        self._execution = handle.shared("DefaultPreemption", Execution)

    @moorage.hookimpl
    def pre_enqueue(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Hold back a pod whose victims are not deleted yet: another try would find them there."""
        return _RUNNING if self._execution.holds(pod.metadata.uid, self.handle) else None

    @moorage.hookimpl
    def post_filter(
        self, pod: moorage.Pod, info: moorage.PodInfo, diagnosis: moorage.Diagnosis
    ) -> moorage.Nomination | moorage.Verdict:
        """Find the node where room for the pod costs least, and begin to make it."""
        self.handle.metrics.scheduling.preemption_attempts.inc()
        reason = self._ineligible(pod, info, diagnosis)
        if reason:
            return moorage.Verdict.unschedulable(f"preemption: {reason}")
        search = self._search(info, diagnosis)
        if search.found is None:
            return moorage.Nomination("", (f"preemption: {search.message()}",))
        found, best = search.found, cheapest(search.found, search.kept)

        def nomination(index: int) -> moorage.Nomination:
            name = diagnosis.nodes.name(int(found.positions[index]))
            return moorage.Nomination(name, victims=found.victims(index))

        chosen = nomination(int(best[0]))
        self._execution.begin(self.handle, info, chosen.node_name, chosen.victims)
        return chosen._replace(equals=lambda: [nomination(index) for index in best[1:].tolist()])

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Let a pod go on when a pod has gone from a node, unless its preemption still runs."""
        gone = moorage.ClusterEvent(moorage.EventResource.ASSIGNED_POD, moorage.ActionType.DELETE)
        return [moorage.EventHint(gone, self._may_go_on)]

    def _may_go_on(self, pod: moorage.Pod, _before: object, _after: object) -> moorage.QueueingHint:
        if self._execution.holds(pod.metadata.uid, self.handle):
            return moorage.QueueingHint.SKIP
        return moorage.QueueingHint.QUEUE

    def _ineligible(
        self, pod: moorage.Pod, info: moorage.PodInfo, diagnosis: moorage.Diagnosis
    ) -> str:
        """Say why a pod may not preempt others now; an empty text: it may."""
        if pod.spec.preemption_policy == "Never":
            return _NEVER
        name = self.handle.nominated_node(pod)
        for position in diagnosis.nodes.positions([name] if name else ()).tolist():
            # Where it cannot go even without its victims, waiting for them is no use.
            if diagnosis.verdict(position).code is moorage.Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                continue
            if any(
                other.priority < info.priority and is_preempted(other.pod)
                for other in diagnosis.nodes.pod_infos(position)
            ):
                return _TERMINATING
        return ""

    def _search(self, info: moorage.PodInfo, diagnosis: moorage.Diagnosis) -> Search:
        potential = diagnosis.refused_with(moorage.Code.UNSCHEDULABLE)
        count = len(potential)
        if count:
            # From a random node on, or the same nodes would suffer each time.
            offset = int(self.handle.generator.integers(count))
            potential = np.roll(potential, -offset)
        wanted = min(count, max(count * self._percentage // 100, self._absolute))
        return Search(
            diagnosis,
            potential,
            wanted,
            priority=info.priority,
            budgets=self.handle.disruption_budgets,
        )
