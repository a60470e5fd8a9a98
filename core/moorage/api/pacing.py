"""How long to wait: backoff after failures, and the optional limit on requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

__all__ = ["Backoff", "TokenBucket"]


class Backoff:
    """Delays that double from `initial` to `maximum` seconds, each stretched by up to its double.

    The defaults are client-go's for reflectors. A failure that comes `reset_after` seconds or
    later after the previous one starts again from `initial`: whatever ran in between was healthy.
    `clock` is monotonic and in seconds.
    """

    def __init__(
        self,
        *,
        rng: random.Random,
        clock: Callable[[], float],
        initial: float = 0.8,
        maximum: float = 30.0,
        reset_after: float = 120.0,
    ) -> None:
        self._rng = rng
        self._clock = clock
        self._initial = initial
        self._maximum = maximum
        self._reset_after = reset_after
        self._next = initial
        self._last_asked = clock()

    def delay(self) -> float:
        """Return the seconds to wait before the next attempt, and make the one after it longer."""
        now = self._clock()
        if now - self._last_asked >= self._reset_after:
            self.reset()
        self._last_asked = now
        delay = self._next
        self._next = min(self._next * 2, self._maximum)
        # Full jitter on top, as client-go: a thousand clients of one server must not return as one.
        return delay * (1 + self._rng.random())

    def reset(self) -> None:
        """Start again from the initial delay."""
        self._next = self._initial


class TokenBucket:
    """Lets `burst` requests through at once and `qps` requests a second after that.

    `clock` is monotonic and in seconds, `sleep` as `asyncio.sleep`.
    """

    def __init__(
        self,
        *,
        qps: float,
        burst: int,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"a limit needs qps above 0 and a burst of 1 or more: {qps}, {burst}")
        self._qps = qps
        self._burst = burst
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(burst)
        self._filled_at = clock()

    async def acquire(self) -> None:
        """Wait for a turn; turns are given in the order in which they were asked for."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        # The token is taken before the wait, down to debt, so that late comers queue up behind.
        self._tokens -= 1
        if self._tokens < 0:
            await self._sleep(-self._tokens / self._qps)
