"""What the world learns about a pod: conditions, nominations and Events; nobody waits for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime

from moorage.api.client import ApiClient
from moorage.api.recording import EventRecorder, Reference
from moorage.binding.reservation import Reservation
from moorage.binding.status_writer import StatusWriter
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

__all__ = ["Reporter"]


class Reporter:
    """Reports on the pods of some profiles; `run` writes, everything else only asks for it.

    `profiles` are the names of the profiles: each reports Events under its own. `newest` is as for
    `StatusWriter`.
    """

    def __init__(
        self,
        client: ApiClient,
        profiles: Iterable[str],
        *,
        newest: Callable[[str], PodInfo | None],
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.status = StatusWriter(client, newest=newest, wall=wall)
        self.recorders = {name: EventRecorder(client, name) for name in profiles}

    def unscheduled(
        self,
        info: PodInfo,
        *,
        reason: str,
        message: str,
        nomination: str | None = None,
        announced: str = "",
    ) -> None:
        """Report that a pod was not scheduled: its PodScheduled condition, and an Event.

        `reason` is Unschedulable or SchedulerError; `nomination` is written too, None leaves it;
        `announced` is the one that was written last, should the watch not have told of it yet.
        """
        self.status.unscheduled(
            info, reason=reason, message=message, nomination=nomination, announced=announced
        )
        self.event(
            info.pod, kind="Warning", reason="FailedScheduling", action="Scheduling", note=message
        )

    def gated(self, info: PodInfo, *, reason: str, message: str) -> None:
        """Report that a pod is not let into the queue, unless it says so: it may for long."""
        if self.status.unscheduled(info, reason=reason, message=message):
            self.event(info.pod, kind="Warning", reason=reason, action="Queueing", note=message)

    def skipped(self, info: PodInfo) -> None:
        """Report that a pod was not tried, since it is being deleted."""
        self.event(
            info.pod,
            kind="Warning",
            reason="FailedScheduling",
            action="Scheduling",
            note=f"skip schedule deleting pod: {info.key}",
        )

    def scheduled(self, info: PodInfo, node_name: str) -> None:
        """Report that a pod was bound."""
        self.event(
            info.pod,
            kind="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {info.key} to {node_name}",
        )

    async def announce(self, reservation: Reservation) -> None:
        """Write where a pod is about to go, so that others leave the node to it."""
        reservation.announced = reservation.node_name
        await self.status.nominate(reservation.info, reservation.node_name)

    async def hush(self, reservation: Reservation) -> None:
        """Write no more about the status of a pod, which is about to be bound."""
        await self.status.hush(reservation.info.uid)

    def event(self, pod: Pod, *, kind: str, reason: str, action: str, note: str) -> None:
        """Record an Event of `kind` Normal or Warning about a pod, from its profile."""
        recorder = self.recorders.get(pod.spec.scheduler_name)
        if recorder is None:
            # A plugin speaks of a pod that another scheduler serves.
            recorder = next(iter(self.recorders.values()))
        metadata = pod.metadata
        regarding = Reference(
            kind="Pod",
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            api_version="v1",
            resource_version=metadata.resource_version,
        )
        recorder.record(regarding, type=kind, reason=reason, action=action, note=note)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.status.run())
            for recorder in self.recorders.values():
                group.create_task(recorder.run())

    async def flush(self, seconds: float) -> None:
        """Wait until everything is written, but no longer than `seconds`."""
        until = time.monotonic() + seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.status.flush()
        left = max(0.0, until - time.monotonic())
        await asyncio.gather(*(recorder.flush(left) for recorder in self.recorders.values()))
