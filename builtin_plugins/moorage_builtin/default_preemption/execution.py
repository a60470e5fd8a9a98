"""Victims are deleted beside the scheduling, and their preemptor waits for that.

A pod that preempts::

    post_filter --> running --a victim's API call fails--> tried again at once
                       |
                       +-----every call is made-----------> waits for its victims to end
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

import moorage
from moorage.errors import ApiError

__all__ = ["Execution", "is_preempted"]

_CONDITION = "DisruptionTarget"
_REASON = "PreemptionByScheduler"


class Execution:
    """The preemptions of a process that are being carried out; shared by all profiles."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        """Preemptor -> the victim that is deleted last, once it is its turn; by uid."""
        self._held: set[str] = set()

    def holds(self, uid: str, handle: moorage.Handle) -> bool:
        """Say whether a pod is to wait since its preemption is running.

        It need not where only the answer to the last deletion is out, and the victim is known to be
        going: events about it would come to nothing otherwise.
        """
        last = self._running.get(uid)
        if last is None:
            return False
        if last:
            victim = handle.pod(last)
            if victim is None or victim.metadata.deletion_timestamp is not None:
                return False
        self._held.add(uid)
        return True

    def begin(
        self,
        handle: moorage.Handle,
        info: moorage.PodInfo,
        node_name: str,
        victims: Sequence[moorage.PodInfo],
    ) -> None:
        """Have the victims of a pod deleted, and lower nominations to the node cleared."""
        # Those that are being deleted already need no more calls.
        pods = [one.pod for one in victims if one.pod.metadata.deletion_timestamp is None]
        if not pods:
            return
        handle.metrics.scheduling.preemption_victims.observe(len(victims))
        preemption = _Preemption(self, handle, info, node_name)
        if handle.spawn(preemption.run(pods)):
            self._running[info.uid] = ""

    def comes_to(self, uid: str, victim: moorage.Pod) -> None:
        """Note which victim of a pod is deleted last, now."""
        self._running[uid] = victim.metadata.uid

    def end(self, uid: str) -> bool:
        """Note that a preemption is over; say whether its pod was held back by it."""
        self._running.pop(uid, None)
        was_held = uid in self._held
        self._held.discard(uid)
        return was_held


class _Preemption:
    """The calls that make room for one pod on a node."""

    def __init__(
        self, execution: Execution, handle: moorage.Handle, info: moorage.PodInfo, node_name: str
    ) -> None:
        self._execution = execution
        self._handle = handle
        self._info = info
        self._node_name = node_name

    async def run(self, victims: Sequence[moorage.Pod]) -> None:
        """Clear lower nominations, then have all victims go; what fails is logged.

        After a failure the pod is tried again at once: what it has been promised may never come.
        """
        handle, uid = self._handle, self._info.uid
        clock, metrics = handle.metrics.clock, handle.metrics.scheduling
        begun = clock()
        try:
            cleared = await self._clear_nominations()
            succeeds = await self._remove(victims) and cleared
        finally:
            was_held = self._execution.end(uid)
        result = "success" if succeeds else "error"
        metrics.preemption_seconds.observe(clock() - begun, result)
        metrics.preemptions.inc(result)
        # Of a victim that is still known it will be told that it ended, and that wakes the pod.
        slept_through = was_held and all(
            handle.pod(victim.metadata.uid) is None for victim in victims
        )
        if slept_through or not succeeds:
            handle.activate([self._info.key])

    async def _clear_nominations(self) -> bool:
        """Expect pods of lower priority on the node no more, and have them look elsewhere."""
        handle = self._handle
        lower: list[moorage.PodInfo] = [
            info
            for info in handle.nominated_pods(self._node_name)
            if info.priority < self._info.priority
        ]
        cleared = True
        for info in lower:
            try:
                await handle.clear_nomination(info.pod)
            except moorage.MoorageError as error:
                cleared = False
                handle.logger.error(  # noqa: TRY400 - the sentence says it all
                    "Cannot clear the nomination of pod %s to node %s, which is for pod %s now: %s",
                    info.key,
                    self._node_name,
                    self._info.key,
                    error,
                )
        handle.activate([info.key for info in lower])
        return cleared

    async def _remove(self, victims: Sequence[moorage.Pod]) -> bool:
        """Have all victims go, the last one alone; not if another one could not be made to go."""
        *others, last = victims
        if not all(await asyncio.gather(*(self._preempt(victim) for victim in others))):
            return False
        self._execution.comes_to(self._info.uid, last)
        return await self._preempt(last)

    async def _preempt(self, victim: moorage.Pod) -> bool:
        """Have one victim go; False where that failed."""
        handle, metadata = self._handle, victim.metadata
        note = f"Preempted by pod {self._info.uid} on node {self._node_name}"
        if self._turn_down(victim):
            note += " (in kube-scheduler memory)."
        else:
            try:
                if not await self._delete(victim):
                    return True
            except moorage.MoorageError as error:
                handle.logger.error(  # noqa: TRY400 - the sentence says it all
                    "Cannot preempt pod %s/%s on node %s for pod %s: %s",
                    metadata.namespace,
                    metadata.name,
                    self._node_name,
                    self._info.key,
                    error,
                )
                return False
        handle.event(
            victim,
            kind="Normal",
            reason="Preempted",
            action="Preempting",
            note=note,
        )
        return True

    def _turn_down(self, victim: moorage.Pod) -> bool:
        """Have a victim that is not bound yet give its place back; False: it is bound, or about to be.

        It is tried again after its backoff.
        """
        handle, uid = self._handle, victim.metadata.uid
        waiting = handle.waiting_pods.get(uid)
        if waiting is not None:
            return waiting.preempt(handle.plugin_name, "preempted")
        pre_bind = handle.pods_in_pre_bind.get(uid)
        return pre_bind is not None and pre_bind.cancel(f"preempted by {handle.plugin_name}")

    async def _delete(self, victim: moorage.Pod) -> bool:
        """Mark and delete a victim; False where it was gone already."""
        profile = self._info.pod.spec.scheduler_name
        try:
            await self._handle.set_condition(
                victim,
                _CONDITION,
                status="True",
                reason=_REASON,
                message=f"{profile}: preempting to accommodate a higher priority pod",
            )
            await self._handle.delete(victim)
        except ApiError as error:
            # A conflict: a pod of the same name has taken its place.
            if error.code not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                raise
            return False
        return True


def is_preempted(pod: moorage.Pod) -> bool:
    """Say whether a pod is ending because it was preempted."""
    return pod.metadata.deletion_timestamp is not None and any(
        condition.type == _CONDITION and condition.status == "True" and condition.reason == _REASON
        for condition in pod.status.conditions
    )
