"""The event loop that commands run in."""

from __future__ import annotations

import asyncio
import threading

from moorage.cli import event_loop


def test_a_call_that_hangs_in_a_thread_holds_up_no_end() -> None:
    """Of a plugin's `asyncio.to_thread`, or a name server that does not answer."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        go_on.wait(5)
        ended.set()

    async def main() -> str:
        abandoned = asyncio.create_task(asyncio.to_thread(call))
        await asyncio.to_thread(begun.wait, 5)
        abandoned.cancel()
        return "done"

    try:
        assert event_loop.run(main()) == "done"
        assert not ended.is_set()
    finally:
        go_on.set()
