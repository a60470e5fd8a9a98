"""Time as the embedded server sees it: passed in, so that a test need not wait."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "timestamp"]


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
