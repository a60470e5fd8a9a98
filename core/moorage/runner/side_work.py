"""What plugins have done at the API server beside the scheduling, such as deleting victims."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from moorage.fault_log import log_fault
from moorage.framework.blame import let_through

__all__ = ["SideWork"]

_logger = logging.getLogger(__name__)


class SideWork:
    """Tasks in the running event loop; what one raises is logged and harms nobody else."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done, and nothing waits for its task."""
        return not self._tasks and not self._waiting

    def spawn(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run a coroutine in a task of its own; may be called from any thread."""
        self._waiting += 1
        self._loop.call_soon_threadsafe(self._begin, work)
        return True

    async def finish(self, seconds: float) -> int:
        """Wait for all tasks, no longer than so long; cancel the others and return their number."""
        await asyncio.sleep(0)  # so that what was asked for last has its task
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return len(late)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._waiting -= 1
        task = self._loop.create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises ends its own work alone
        let_through(error, awaited=True)
        log_fault(_logger, error)
