"""Whether writes may go out: only while the Lease holds, by a clock that nobody sets.

Two replicas never write at the same time: one writes until `renewDeadline` after its last renewal
began, the other not before `leaseDuration` after it saw that renewal. What is between the two is for
what is on its way. The check stands immediately before the bytes go out, since a loop that was held
up between a decision and its write must not write when it comes to itself again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import aiohttp

from moorage.errors import NotLeadingError

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

__all__ = ["GatedBody", "WriteGate", "steady_clock"]

_FREE = ("/apis/events.k8s.io/", "/api/v1/events")
"""Events only inform people: what is said too late does no harm."""


def steady_clock() -> float:
    """Return seconds that only move forward, and also while the machine sleeps."""
    # A monotonic clock stands still while a virtual machine is suspended; the others' does not.
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class WriteGate:
    """Closed until `open_until` says otherwise; one thread opens it, others look."""

    def __init__(self, clock: Callable[[], float] = steady_clock) -> None:
        self._clock = clock
        self._until = float("-inf")
        self._shut = False

    @property
    def is_open(self) -> bool:
        """Whether a write may go out now."""
        return not self._shut and self._clock() < self._until

    def open_until(self, moment: float) -> None:
        """Let writes out up to a moment of the clock, unless the gate is shut."""
        self._until = moment

    def shut(self) -> None:
        """Let no write out any more, ever."""
        self._shut = True

    def check(self, method: str, path: str) -> None:
        """Raise NotLeadingError where a request would write and must not."""
        if method == "GET" or self.is_open or path.startswith(_FREE):
            return
        raise NotLeadingError(f"{method} {path} was not sent: the Lease does not hold (any more)")


class GatedBody(aiohttp.BytesPayload):
    """A request's body that goes out only while a gate is open.

    Between the decision to send and the sending there is a wait for a connection.
    """

    def __init__(self, gate: WriteGate, method: str, path: str, data: bytes) -> None:
        super().__init__(data)
        self._request = method, path
        self._gate = gate

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write all, or raise NotLeadingError."""
        self._gate.check(*self._request)
        await super().write(writer)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write all, or raise NotLeadingError."""
        self._gate.check(*self._request)
        await super().write_with_length(writer, content_length)
