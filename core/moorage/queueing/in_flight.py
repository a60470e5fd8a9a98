"""Pods in their cycle, and what happened in the cluster meanwhile."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from moorage.framework.queued_pod import QueuedPod
from moorage.model.events import ClusterEvent
from moorage.model.pod_info import PodInfo

__all__ = ["Happening", "InFlight"]


class Happening(NamedTuple):
    """An event with its objects: `old` None for an addition, `new` None for a deletion."""

    event: ClusterEvent
    old: Any
    new: Any


class _Flight:
    """One pod's cycle: what concerned this pod alone, and its newest version if it changed."""

    __slots__ = ("newest", "own", "queued")

    def __init__(self, queued: QueuedPod) -> None:
        self.queued = queued
        self.own: list[Happening] = []
        self.newest: PodInfo | None = None


class InFlight:
    """A log of events that is as long as the oldest cycle that still listens, and no longer.

    A pod that changes meanwhile keeps the version that its cycle works with; the newer one is put
    in place when the pod comes back.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight] = {}
        # Where in the log each cycle began; in the order of their start, so that the first is the
        # oldest. Positions count from the first event ever; the log begins at `_first`.
        self._listening: OrderedDict[str, int] = OrderedDict()
        self._log: deque[Happening] = deque()
        self._first = 0

    def start(self, queued: QueuedPod) -> None:
        """Begin a pod's cycle: from here on it hears of events."""
        uid = queued.info.uid
        self._flights[uid] = _Flight(queued)
        self._listening[uid] = self._first + len(self._log)

    def record(self, happening: Happening) -> None:
        """Note an event of the cluster, if any cycle listens."""
        if self._listening:
            self._log.append(happening)

    def record_for(self, uid: str, happening: Happening) -> None:
        """Note an event that concerns one pod in flight alone."""
        self._flights[uid].own.append(happening)

    def renew(self, uid: str, info: PodInfo) -> None:
        """Keep a newer version of a pod in flight."""
        self._flights[uid].newest = info

    def newest(self, uid: str) -> PodInfo:
        """Return the newest version of a pod in flight."""
        flight = self._flights[uid]
        return flight.newest or flight.queued.info

    def listens(self, uid: str) -> bool:
        """Say whether events are kept for a pod."""
        return uid in self._listening

    def happenings(self, uid: str) -> tuple[Happening, ...]:
        """Return what happened since a pod's cycle began, as far as it listened."""
        begin = self._listening.get(uid, self._first + len(self._log))
        return (*self._flights[uid].own, *islice(self._log, begin - self._first, None))

    def stop_listening(self, uid: str) -> None:
        """Keep no more events for a pod, nor those that were kept for it alone."""
        if self._listening.pop(uid, None) is None:
            return
        end = self._first + len(self._log)
        oldest = next(iter(self._listening.values()), end)
        while self._first < oldest:
            self._log.popleft()
            self._first += 1

    def end(self, uid: str) -> None:
        """End a pod's cycle."""
        self.stop_listening(uid)
        del self._flights[uid]

    def event_counts(self) -> Counter[str]:
        """Count the events that are kept, by name; may be called in another thread."""
        counts = Counter(happening.event.label for happening in list(self._log))
        counts["PodPopped"] = len(self._listening)
        return counts

    @property
    def log_length(self) -> int:
        """How many events of the cluster are kept."""
        return len(self._log)

    def check_invariants(self) -> None:
        """Raise `AssertionError` where the log is longer or shorter than its listeners need."""
        oldest = min(self._listening.values(), default=self._first + len(self._log))
        if oldest != self._first:
            raise AssertionError(f"the log begins at {self._first}, its oldest reader at {oldest}")
        if not self._listening.keys() <= self._flights.keys():
            raise AssertionError("a pod listens that is not in flight")

    def __contains__(self, queued: QueuedPod) -> bool:
        flight = self._flights.get(queued.info.uid)
        return flight is not None and flight.queued is queued

    def __iter__(self) -> Iterator[QueuedPod]:
        return (flight.queued for flight in self._flights.values())

    def __len__(self) -> int:
        return len(self._flights)
