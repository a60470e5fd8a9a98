"""From batches to single objects, and what a new list lacks."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from moorage.api.watching import Batch, Replace
from moorage.fault_log import log_fault
from moorage.model.events import ClusterEvent
from moorage.queueing import SchedulingQueue

__all__ = ["Feed"]

_logger = logging.getLogger(__name__)

T = TypeVar("T")


class Feed(ABC, Generic[T]):
    """Keeps up with one resource.

    Between two objects everything is consistent, so that a caller may pause there: `steps` yields
    after each object, `take` does not pause. `on_event` hears how many seconds each event took that
    the queue was told of, and its name as in ``scheduler_event_handling_duration_seconds``.
    """

    _queue: SchedulingQueue
    on_event: Callable[[float, str], None] | None = None
    _events: tuple[str, ...] = ()
    """What the object that is being taken in meant, by `_mean`."""

    def take(self, batch: Batch[T]) -> None:
        """Bring everything up to date with a batch; O(changes), or O(objects) for a new list."""
        for _ in self.steps(batch):
            pass

    def steps(self, batch: Batch[T]) -> Iterator[None]:
        """Do the same, one object a step."""
        if isinstance(batch, Replace):
            yield from self._replace(batch.items)
            return
        for change in batch.changes:
            if self._is_outdated(change.object):
                continue
            if change.type == "DELETED":
                self._drop(self.identity(change.object))
            else:
                self._put(change.object)
            yield

    def _replace(self, items: list[T]) -> Iterator[None]:
        # What is gone goes first: it may make room, and a namesake made anew must find none.
        listed = {self.identity(item) for item in items}
        for identity in [one for one in self.identities() if one not in listed]:
            self._drop(identity)
            yield
        for item in items:
            self._put(item)
            yield

    def _is_outdated(self, item: T) -> bool:
        """Say whether a watch repeats itself: going back would free room that is taken.

        Resource versions compare as numbers, by the API's promise since 1.35 (KEP-5504). A new list
        may go back, to a backup that was restored.
        """
        known = self.newest(self.identity(item))
        if known is None:
            return False
        before, now = _version(known), _version(item)
        return before.isdecimal() and now.isdecimal() and int(now) < int(before)

    # One object that we cannot cope with must cost no other, nor end the watch.

    def _put(self, item: T) -> None:
        begun = time.perf_counter()
        try:
            self.put(item)
        except Exception as error:  # noqa: BLE001 - a fault of ours must end no process
            self._log(error, self.identity(item))
        self._measure(begun)

    def _drop(self, identity: Hashable) -> None:
        begun = time.perf_counter()
        try:
            self.drop(identity)
        except Exception as error:  # noqa: BLE001 - as above
            self._log(error, identity)
        self._measure(begun)

    def _measure(self, begun: float) -> None:
        if self._events and self.on_event is not None:
            seconds = time.perf_counter() - begun
            for event in self._events:
                self.on_event(seconds, event)
        self._events = ()

    def _log(self, error: Exception, identity: Hashable) -> None:
        what = f"{type(self).__name__} cannot take in {identity}"
        log_fault(_logger, error, f"{what}: {type(error).__name__}: {error}")

    def _tell(
        self,
        event: ClusterEvent,
        old: Any,  # noqa: ANN401 - any API object
        new: Any,  # noqa: ANN401 - any API object
    ) -> None:
        """Tell the queue what happened, and remember it as what the object meant."""
        self._mean(*event.labels)
        self._queue.move(event, old, new)

    def _mean(self, *events: str) -> None:
        """Remember what the object that is being taken in means, for the metrics."""
        before = self._events
        if before:  # seldom, and this is done for every event
            events = (*before, *(one for one in events if one not in before))
        self._events = events

    def newest(self, identity: Hashable) -> T | None:  # noqa: ARG002 - for feeds that know
        """Return the newest version that was taken in, by feeds that never go back."""
        return None

    @abstractmethod
    def identity(self, item: T) -> Hashable:
        """Return what stays the same in all versions of an object."""

    @abstractmethod
    def identity_by(self, namespace: str, name: str, uid: str) -> Hashable:
        """Return the same by what an object's metadata say; `namespace` may be empty."""

    @abstractmethod
    def identities(self) -> Iterable[Hashable]:
        """Return the identities of all objects that are known."""

    @abstractmethod
    def put(self, item: T) -> None:
        """Take in an object that is new, or a newer version of one."""

    @abstractmethod
    def drop(self, identity: Hashable) -> None:
        """Forget an object that is gone; one that is not known is left alone."""


def _version(item: Any) -> str:  # noqa: ANN401 - a record of any kind
    return str(item.metadata.resource_version)
