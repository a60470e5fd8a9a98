"""Watches: a position in one shelf's history and what a selection makes of the changes after it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from moorage.embedded.status import expired

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from moorage.embedded.selectors import Selection
    from moorage.embedded.shelf import Change, Shelf, Version

__all__ = ["Watch", "WatchEvent"]

# Changes handled between two chances for others to run: about 1 ms of work.
BATCH = 250


class WatchEvent(NamedTuple):
    """``ADDED``, ``MODIFIED`` or ``DELETED`` and the object's state."""

    type: str
    version: Version


class Watch:
    """One watcher's way through the history of a shelf.

    `start` is the resourceVersion after which changes are wanted. A watcher that falls behind the
    bounded history is told so with `StatusError` 410, as is one that starts before it.
    """

    def __init__(self, shelf: Shelf, selection: Selection, *, start: int, current: int) -> None:
        if start < shelf.floor:
            raise expired(f"too old resource version: {start} ({current})")
        self._shelf = shelf
        self._selection = selection
        self._start = start
        self._position = shelf.position_after(start)
        self._whole = selection.namespace is None and not selection.selects
        self._closed = False

    def close(self) -> None:
        """End the watch: `batches` returns after what it has handed out."""
        self._closed = True
        self._shelf.wake()

    def pending(self) -> list[WatchEvent]:
        """Return the events of up to `BATCH` changes not handed out yet, without waiting."""
        changes = self._shelf.changes(self._position, most=BATCH)
        if changes is None:
            raise expired(f"too old resource version: {self._start} ({self._shelf.floor})")
        self._position += len(changes)
        # A watch that began in the future has changes to come that are older than its start.
        seen = (self._event(change) for change in changes if change.version.number > self._start)
        return [event for event in seen if event]

    def _event(self, change: Change) -> WatchEvent | None:
        if self._whole:
            kind = "DELETED" if change.deleted else "MODIFIED" if change.before else "ADDED"
            return WatchEvent(kind, change.version)
        seen = change.seen_through(self._selection)
        return WatchEvent(*seen) if seen else None

    async def batches(self, *, idle: float | None = None) -> AsyncIterator[list[WatchEvent]]:
        """Yield events as they come, in batches, until `close`.

        After `idle` seconds without a change an empty batch is yielded, a chance for a bookmark.
        Raises `StatusError` 410 when the history has moved past this watch.
        """
        while not self._closed:
            if events := self.pending():
                yield events
                await asyncio.sleep(0)
                continue
            try:
                async with asyncio.timeout(idle):
                    await self._shelf.wait(self._position)
            except TimeoutError:
                yield []
