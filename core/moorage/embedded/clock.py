"""Time as the embedded server sees it: passed in, so that a test need not wait."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "timestamp"]


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Return seconds since 1970, UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return once `now` has advanced by `seconds`."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return seconds since 1970, UTC."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(seconds)


def timestamp(seconds: float) -> str:
    """Write seconds since 1970 as the API's ``metav1.Time``: UTC, whole seconds, ``Z``."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ManualClock:
    """A clock that stands still until a test moves it; sleepers wake in the order of their times."""

    def __init__(self, now: float = 1_767_225_600.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Return seconds since 1970; it starts at the beginning of 2026."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` or `set` has moved the clock by `seconds`."""
        if seconds <= 0:
            return
        future = asyncio.get_running_loop().create_future()
        entry = (self._now + seconds, len(self._sleepers), future)
        self._sleepers.append(entry)
        try:
            await future
        finally:
            self._sleepers.remove(entry)

    def set(self, now: float) -> None:
        """Move to a time; whoever is due runs when the caller next awaits."""
        self._now = now
        for due, _order, future in sorted(self._sleepers, key=lambda sleeper: sleeper[:2]):
            if due <= now and not future.done():
                future.set_result(None)

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`."""
        self.set(self._now + seconds)
