"""The event loop of a command: it ends though something still hangs in one of its threads."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


class _Threads(ThreadPoolExecutor):
    """What runs ``asyncio.to_thread`` of plugins and looks up names of hosts."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the library's signature
        """End without waiting: a loop that is closed asks to wait, for ever if need be.

        The threads are left to the end of the process (`moorage_command`), which names them.
        """
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, as `asyncio.run` does."""
    return asyncio.run(_run(main))


async def _run(main: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(_Threads(thread_name_prefix="asyncio"))
    return await main
