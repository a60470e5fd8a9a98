"""Whether the scheduling loop moves, and what it is at when it does not.

The loop leaves two marks, each a plain store: a heartbeat of its event loop, and which hook it has
called last, for which pod. A thread looks at them a few times in a deadline; nothing else costs time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from moorage.framework.activity import Activity

__all__ = ["DEADLINE_SECONDS", "Heartbeat", "Watchdog"]

_logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 5.0
"""How long one scheduling hook, or the loop as a whole, may keep everything else waiting."""
_LOOKS = 5
"""How often the thread looks in that time."""


class Heartbeat:
    """When the event loop moved last; `beat` runs in it for ever."""

    def __init__(self, *, period: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self._period = period
        self._clock = clock
        self._last: float | None = None

    async def beat(self) -> None:
        """Tell, again and again, that the loop moves."""
        while True:
            self._last = self._clock()
            await asyncio.sleep(self._period)

    @property
    def silence(self) -> float:
        """For how many seconds the loop has not moved; 0 before it began to."""
        return 0.0 if self._last is None else self._clock() - self._last


class Watchdog:
    """Logs a scheduling hook that is over its deadline, and says what is wrong meanwhile."""

    def __init__(
        self,
        heartbeat: Heartbeat,
        activity: Activity,
        *,
        deadline: float = DEADLINE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._heartbeat = heartbeat
        self._activity = activity
        self._deadline = deadline
        self._clock = clock
        self._seen: tuple[int, str, str] | None = None
        self._since = 0.0
        self._told = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look from now on, in a thread."""
        self._thread = threading.Thread(target=self._run, name="moorage-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def look(self) -> None:
        """Look once: a hook that was already there at the last look has been there since."""
        seen = self._activity.now()
        if seen is None or seen != self._seen:
            self._seen, self._since, self._told = seen, self._clock(), False
            return
        lasted = self._clock() - self._since
        if lasted >= self._deadline and not self._told:
            self._told = True
            _logger.error("%s, for more than %.1f s by now", self._activity.sentence(), lasted)

    def fault(self) -> str:
        """Say what is wrong with the scheduling loop; empty: nothing."""
        if self._told and self._activity.now() == self._seen:
            return f"{self._activity.sentence()}, for {self._clock() - self._since:.1f} s"
        silence = self._heartbeat.silence
        if silence >= self._deadline:
            return f"the scheduling loop has not moved for {silence:.1f} s"
        return ""

    def _run(self) -> None:
        while not self._stop.wait(self._deadline / _LOOKS):
            self.look()
