"""What a session leaves for people: numbers, and what came of each pod's last attempt."""

from __future__ import annotations

from moorage.binding.reservation import Reservation
from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod
from moorage.serving.attempts import AttemptLog

__all__ = ["Record"]


class Record:
    """Notes what happens in a session, in the metrics of its services and in `attempts`."""

    def __init__(self, services: Services) -> None:
        self.attempts = AttemptLog()
        self._metrics = services.metrics
        self._now = services.clock
        self.event = services.metrics.scheduling.event_seconds.observe
        """Notes how many seconds taking in an event took, and which."""

    def begin(self, queued: QueuedPod) -> None:
        """Note that an attempt begins."""
        queued.begun = self._metrics.clock()

    def bound(self, reservation: Reservation) -> None:
        """Note that a pod is bound."""
        queued = reservation.queued
        first = queued.timestamp if queued.first_attempt is None else queued.first_attempt
        self._metrics.profile(queued.pod.spec.scheduler_name).scheduled(
            attempts=queued.attempts,
            since_ready=self._now() - first,
            flushed=queued.was_flushed,
        )
        self._end(queued, "scheduled", node_name=reservation.node_name)

    def failed(self, queued: QueuedPod, message: str, *, refused: bool) -> None:
        """Note that an attempt failed: the pod was refused, or something went wrong."""
        self._end(queued, "unschedulable" if refused else "error", message=message)

    def hint(self, plugin: str, event: str, answer: str, seconds: float) -> None:
        """Note that a queueing hint was asked."""
        self._metrics.scheduling.hint_seconds.observe(seconds, plugin, event, answer)

    def incoming(self, queue: str, event: str) -> None:
        """Note that a pod entered a queue."""
        self._metrics.scheduling.incoming.inc(event, queue)

    def _end(
        self, queued: QueuedPod, result: str, *, message: str = "", node_name: str = ""
    ) -> None:
        seconds = self._metrics.clock() - queued.begun
        self._metrics.profile(queued.pod.spec.scheduler_name).attempted(result, seconds)
        self.attempts.note(
            queued, result=result, message=message, node_name=node_name, seconds=seconds
        )
