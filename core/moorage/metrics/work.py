"""What queues of work beside the loop tell: ``workqueue_...``, as client-go has it."""

from __future__ import annotations

import time

from moorage.metrics.buckets import WORK_SECONDS
from moorage.metrics.families import Counter, Gauge, Histogram

__all__ = ["WorkMetrics", "WorkQueue"]

_NAME = "name"


class WorkMetrics:
    """The families by their names in Python; each queue is a `WorkQueue`."""

    def __init__(self) -> None:
        self.adds = Counter("workqueue_adds_total", "Items added.", _NAME)
        self.depth = Gauge("workqueue_depth", "Items that wait.", _NAME)
        self.waited_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds that an item waited.",
            _NAME,
            bounds=WORK_SECONDS,
        )
        self.worked_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds that an item took.",
            _NAME,
            bounds=WORK_SECONDS,
        )
        self.retries = Counter("workqueue_retries_total", "Items tried again.", _NAME)
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Seconds that the oldest item at work has taken so far.",
            _NAME,
        )
        self.unfinished = Gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds that all items at work have taken so far.",
            _NAME,
        )
        self._queues: dict[str, WorkQueue] = {}
        self.depth.read_from(lambda: {(q.name,): q.depth for q in list(self._queues.values())})
        self.longest.read_from(
            lambda: {(q.name,): max(q.running(), default=0.0) for q in list(self._queues.values())}
        )
        self.unfinished.read_from(
            lambda: {(q.name,): sum(q.running()) for q in list(self._queues.values())}
        )

    def queue(self, name: str) -> WorkQueue:
        """Return the queue of a name, made when first asked for."""
        if name not in self._queues:
            self._queues[name] = WorkQueue(self, name)
        return self._queues[name]


class WorkQueue:
    """One queue's numbers. Items go by a key of their own: added, begun, ended, in this order."""

    def __init__(self, families: WorkMetrics, name: str) -> None:
        self.name = name
        self._adds = families.adds.series(name)
        self._retries = families.retries.series(name)
        self._waited = families.waited_seconds.series(name)
        self._worked = families.worked_seconds.series(name)
        self._added: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    @property
    def depth(self) -> int:
        """How many items wait."""
        return len(self._added)

    def added(self, key: str) -> None:
        """Note that an item waits."""
        self._adds.inc()
        self._added[key] = time.perf_counter()

    def begun(self, key: str) -> None:
        """Note that an item is at work."""
        now = time.perf_counter()
        self._begun[key] = now
        self._waited.observe(now - self._added.pop(key, now))

    def retried(self) -> None:
        """Note that an item at work is tried again."""
        self._retries.inc()

    def ended(self, key: str) -> None:
        """Note that an item is done, or given up."""
        now = time.perf_counter()
        self._worked.observe(now - self._begun.pop(key, now))

    def running(self) -> list[float]:
        """Return for how many seconds each item at work has been so."""
        now = time.perf_counter()
        return [now - begun for begun in list(self._begun.values())]
