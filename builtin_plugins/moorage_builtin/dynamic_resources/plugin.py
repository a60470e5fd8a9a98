"""The plugin: what each hook does with what the other modules find out."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model.devices import ResourceClaim
from moorage_builtin.dynamic_resources.arguments import DynamicResourcesArgs
from moorage_builtin.dynamic_resources.extended import MARK, asked_by_class, claim_in_memory
from moorage_builtin.dynamic_resources.pod_claims import ClaimProblem, check_usable, claims_of
from moorage_builtin.dynamic_resources.pod_devices import PodDevices
from moorage_builtin.dynamic_resources.reckoner import reckoner_of
from moorage_builtin.dynamic_resources.requeueing import hints
from moorage_builtin.dynamic_resources.writing import Writer

__all__ = ["DynamicResources"]

_DEVICES = "devices"
_NO_CLAIMS = moorage.Verdict.unschedulable("no new claims to deallocate")
_NOT_ASKED = moorage.Verdict.error("not found")
"""What kube-scheduler says where an earlier plugin ended the cycle before this one was asked."""


class DynamicResources(moorage.Plugin):
    """Gives pods the devices that they claim (resource.k8s.io/v1).

    Pods without claims share one answer, and cost nothing.
    """

    Args = DynamicResourcesArgs
    filter_depends = moorage.Depends()
    score_depends = moorage.Depends()
    watches = ("resourceclaims", "resourceslices", "deviceclasses")

    def __init__(self, args: DynamicResourcesArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._reckoner = reckoner_of(handle)
        self._ledger = self._reckoner.ledger
        self._writer = Writer(handle, self._ledger, args.binding_timeout)

    # Before a node is known

    @moorage.hookimpl
    def pre_enqueue(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Hold back a pod whose claims are not there yet."""
        if not pod.spec.resource_claims:
            return None
        try:
            claims_of(pod, self._ledger)
        except ClaimProblem as problem:
            return moorage.Verdict.unresolvable(str(problem))
        return None

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod, info: moorage.PodInfo) -> Hashable | None:
        """Pods without claims are all alike; of others, each finds other devices left."""
        if pod.spec.resource_claims or self._resources(info):
            return None
        return ()

    @moorage.hookimpl
    def pre_filter(
        self, state: moorage.CycleState, pod: moorage.Pod, info: moorage.PodInfo
    ) -> moorage.Verdict | None:
        """Find the pod's claims, and refuse it where one cannot be used or allocated now."""
        state[_DEVICES] = None
        resources = self._resources(info)
        if not pod.spec.resource_claims and not resources:
            return moorage.SKIP
        self._ledger.forget_doubts(self.handle.clock())
        try:
            claims = claims_of(pod, self._ledger)
            extended = self._extended(pod) if resources else None
            if not claims and extended is None:
                return moorage.SKIP
            state[_DEVICES] = PodDevices(
                self.handle,
                pod,
                claims,
                extended=extended,
                resources=resources,
                args=self.args,
            )
        except ClaimProblem as problem:
            return moorage.Verdict.unresolvable(str(problem))
        return None

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int64] | None:
        """Look for devices on n nodes; (n,) codes of what is in the way."""
        devices: PodDevices | None = state[_DEVICES]
        return None if devices is None else devices.codes(nodes)

    @moorage.hookimpl
    def explain(self, state: moorage.CycleState, code: int) -> moorage.Verdict:
        """Say what is in the way; devices of others are not to be had by preemption."""
        devices: PodDevices = state[_DEVICES]
        return moorage.Verdict.unresolvable(devices.reasons[code - 1])

    @moorage.hookimpl
    def post_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict:
        """Have a claim give back devices that this pod cannot use where it could run."""
        if _DEVICES not in state:
            return _NOT_ASKED
        devices: PodDevices | None = state.get(_DEVICES)
        if devices is None:
            return _NO_CLAIMS
        return moorage.Verdict.unschedulable(self._give_back(pod, devices))

    @moorage.hookimpl
    def score_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int64] | int:
        """Prefer nodes that have devices for the first of several alternatives; (n,) int64."""
        devices: PodDevices | None = state.get(_DEVICES)
        return 0 if devices is None else devices.scores(nodes)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scale so that the best node has 100; where none has anything, all have 0."""
        highest = int(scores.max(initial=0))
        return scores * 100 // highest if highest else scores

    # Once it is known

    @moorage.hookimpl
    def reserve(
        self, state: moorage.CycleState, pod: moorage.Pod, node_name: str
    ) -> moorage.Verdict | None:
        """Set aside the devices on the node, for all profiles to see."""
        devices: PodDevices | None = state.get(_DEVICES)
        if devices is None:
            return None
        allocations = devices.allocations(node_name)
        try:
            for one in allocations:
                check_usable(one.claim, pod, self._ledger)
        except ClaimProblem as problem:
            return moorage.Verdict.unresolvable(str(problem))
        for one in allocations:
            results = one.allocation.devices.results
            self._ledger.reserve(one.claim.metadata.uid, pod.metadata.uid, results)
        state["allocations"] = allocations
        return None

    @moorage.hookimpl
    def unreserve(self, state: moorage.CycleState, pod: moorage.Pod) -> None:
        """Give back what was set aside, and what was written about this pod."""
        devices: PodDevices | None = state.get(_DEVICES)
        if devices is None:
            return
        for one in state.pop("allocations", ()):
            self._ledger.release(one.claim.metadata.uid, pod.metadata.uid)
        self._writer.undo(pod, devices.claims, state.pop("written", None))

    @moorage.hookimpl
    async def pre_bind_pre_flight(self, state: moorage.CycleState) -> moorage.Verdict | None:
        """Say that there is nothing to do for a pod without claims; async: no thread for each pod."""
        return moorage.SKIP if state.get(_DEVICES) is None else None

    @moorage.hookimpl
    async def pre_bind(
        self, state: moorage.CycleState, pod: moorage.Pod, node_name: str
    ) -> moorage.Verdict | None:
        """Write down who has which device, and wait until all devices are ready."""
        devices: PodDevices | None = state.get(_DEVICES)
        if devices is None:
            return None
        return await self._writer.write(
            state,
            pod,
            node_name,
            claims=devices.claims,
            allocations=state.get("allocations", ()),
            served=devices.served(node_name),
        )

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when claims, devices or classes come or change, or nodes come."""
        return hints(self._ledger)

    # Inside

    def _resources(self, info: moorage.PodInfo) -> dict[str, int]:
        classes = self._reckoner.classes
        return asked_by_class(info, classes) if len(classes) else {}

    def _extended(self, pod: moorage.Pod) -> ResourceClaim:
        """Return the claim for a pod's resources: one that an earlier attempt left, or a new one."""
        for claim in self._reckoner.claims.owned_by(pod.metadata.uid):
            if claim.metadata.annotations.get(MARK) == "true":
                return claim
        return claim_in_memory(pod)

    def _give_back(self, pod: moorage.Pod, devices: PodDevices) -> str:
        """Begin to take devices from one claim, where there is one; say what came of it."""
        candidates = [
            claim
            for index in sorted(devices.unavailable)
            if (claim := devices.claims[index]) is not devices.extended
            and all(one.uid == pod.metadata.uid for one in claim.status.reserved_for)
        ]
        if candidates:
            chosen = candidates[int(self.handle.generator.integers(len(candidates)))]
            self._writer.deallocate(pod, chosen)
            return "deallocation of ResourceClaim completed"
        extended = devices.extended
        if extended is not None and extended in self._reckoner.claims.owned_by(pod.metadata.uid):
            self._writer.delete(pod, extended)
            return "deletion of ResourceClaim completed"
        return "still not schedulable"
