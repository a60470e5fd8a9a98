"""Threads for plain binding hooks, which may block: bounded, and never in the way of an exit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from moorage.fault_log import worded

__all__ = ["DaemonThreads"]

T = TypeVar("T")

_Work = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class DaemonThreads:
    """Runs calls in up to `limit` daemon threads, made when needed.

    A call that hangs keeps its thread; only when all hang do others wait. The pools of the standard
    library join their threads at exit, and one hung plugin would keep the process alive for ever.
    """

    def __init__(self, *, limit: int = 64) -> None:
        self._limit = limit
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._started = 0
        self._busy = 0
        self._waiting = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns, or raise what it raises; cancelling abandons it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting += 1
        if self._busy + self._waiting > self._started < self._limit:
            self._started += 1
            threading.Thread(
                target=self._serve, name=f"moorage-binding-{self._started}", daemon=True
            ).start()
        self._work.put((call, future, loop))
        return await future

    def close(self) -> None:
        """Let idle threads end; those that hang are left to the exit of the process."""
        for _ in range(self._started):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            call, future, loop = work
            outcome: Any = None
            problem: BaseException | None = None
            if not self._tell(loop, self._begin):
                return
            try:
                outcome = call()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                problem = error
            if not self._tell(loop, self._end, future, outcome, problem):
                return

    @staticmethod
    def _tell(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *what: Any) -> bool:  # noqa: ANN401 - passed on
        """Have the loop's own thread do something; False: the loop is closed, nobody waits."""
        try:
            loop.call_soon_threadsafe(function, *what)
        except RuntimeError:
            return False
        return True

    def _begin(self) -> None:
        self._waiting -= 1
        self._busy += 1

    def _end(
        self,
        future: asyncio.Future[Any],
        outcome: Any,  # noqa: ANN401 - whatever the call returned
        problem: BaseException | None,
    ) -> None:
        self._busy -= 1
        if future.done():
            return
        if problem is None:
            future.set_result(outcome)
        elif isinstance(problem, Exception) and not isinstance(problem, StopIteration):
            future.set_exception(problem)
        else:  # a future refuses StopIteration; SystemExit must not end the loop
            future.set_exception(RuntimeError(worded(problem)))
