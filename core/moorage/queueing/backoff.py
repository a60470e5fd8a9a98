"""How long a pod waits after a failed attempt, and the pods that do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing.pod_heap import PodHeap

__all__ = ["ORDERING_WINDOW", "Backoff", "BackoffQueue"]

ORDERING_WINDOW = 1.0
"""Seconds: backoffs end at its multiples, so that pods whose backoffs end together are tried in the
order of the queue sort, not in that of their failures (KEP-5142)."""


class Backoff:
    """A wait that doubles from `initial` to `maximum`, both in seconds."""

    def __init__(self, *, initial: float, maximum: float) -> None:
        self._initial = initial
        self._maximum = maximum

    def duration(self, failures: int) -> float:
        """Return the seconds to wait after so many failures of one kind; none after none."""
        if failures <= 0:
            return 0.0
        # The exponent is bounded first: 2.0 ** 1024 overflows.
        return min(self._initial * 2.0 ** min(failures - 1, 60), self._maximum)

    def end(self, queued: QueuedPod) -> float:
        """Return when a pod that failed at its `timestamp` may be tried again.

        Errors and refusals are counted apart: one lost connection does not make a pod wait as if it
        had been refused ten times.
        """
        wait = self.duration(queued.error_count or queued.unschedulable_count)
        return math.ceil((queued.timestamp + wait) / ORDERING_WINDOW) * ORDERING_WINDOW


class BackoffQueue:
    """Pods whose backoff is not over, by its end; those that met an error in a heap of their own.

    An error is not retried early: whatever failed wants the time to recover.
    """

    def __init__(self) -> None:
        self._refused = PodHeap()
        self._failed = PodHeap()

    def push(self, queued: QueuedPod, sort_key: Any) -> None:  # noqa: ANN401 - the plugin's key
        """Add a pod, or sort it in anew; pods whose backoffs end together go by `sort_key`."""
        heap = self._failed if queued.error_count else self._refused
        heap.push(queued, (queued.backoff_until, sort_key))

    def discard(self, queued: QueuedPod) -> None:
        """Remove a pod, if it is in here."""
        self._refused.discard(queued)
        self._failed.discard(queued)

    def first_refused(self) -> QueuedPod | None:
        """Return the pod to try when nothing is active: none that met an error."""
        return self._refused.first()

    def first_due(self, now: float) -> QueuedPod | None:
        """Return a pod whose backoff is over, without removing it."""
        for heap in (self._refused, self._failed):
            queued = heap.first()
            if queued is not None and queued.backoff_until <= now:
                return queued
        return None

    def next_due_at(self) -> float | None:
        """Return when the next backoff ends; None: no pod is in here."""
        heads = (self._refused.first(), self._failed.first())
        return min((queued.backoff_until for queued in heads if queued is not None), default=None)

    def check_invariants(self) -> None:
        """Raise `AssertionError` where a heap is broken or a pod is in the wrong one."""
        for heap in (self._refused, self._failed):
            heap.check_invariants()
        if any(queued.error_count for queued in self._refused):
            raise AssertionError("a pod that met an error could be popped from backoff")
        if not all(queued.error_count for queued in self._failed):
            raise AssertionError("a refused pod waits among those that met an error")

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued in self._refused or queued in self._failed

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._refused
        yield from self._failed

    def __len__(self) -> int:
        return len(self._refused) + len(self._failed)
