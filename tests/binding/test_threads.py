"""Our own threads for calls that may block."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from moorage.binding import DaemonThreads


async def test_returns_what_the_call_returns() -> None:
    """And runs it elsewhere than in the event loop's thread."""
    threads = DaemonThreads()
    assert await threads.run(threading.get_ident) != threading.get_ident()
    threads.close()


def stop() -> None:
    """Raise what a future does not take."""
    raise StopIteration


def leave() -> None:
    """Raise what would end a process."""
    raise SystemExit(3)


async def test_raises_what_the_call_raises() -> None:
    """Also what a future would refuse, or what would end the loop."""
    threads = DaemonThreads()
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    for call in (stop, leave):
        with pytest.raises(RuntimeError):
            await threads.run(call)
    threads.close()


async def test_threads_are_reused_and_bounded() -> None:
    """No more than `limit`, and no more than there is work for."""
    threads = DaemonThreads(limit=3)
    for _ in range(5):
        await threads.run(int)
    assert threads._started == 1
    barrier = threading.Barrier(3)
    await asyncio.gather(*(threads.run(barrier.wait) for _ in range(6)))
    assert threads._started == 3
    threads.close()


async def test_cancelled_call_is_abandoned() -> None:
    """Whoever waited goes on; the thread comes back when its call ends."""
    threads = DaemonThreads(limit=1)
    release = threading.Event()
    task = asyncio.create_task(threads.run(release.wait))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    assert await threads.run(lambda: 7) == 7
    threads.close()


HANGING = """
import asyncio, time
from moorage.binding import DaemonThreads

async def main():
    task = asyncio.create_task(DaemonThreads().run(lambda: time.sleep(60)))
    await asyncio.sleep(0.05)
    task.cancel()

asyncio.run(main())
"""


def test_hung_call_does_not_keep_the_process() -> None:
    """The pools of the standard library would wait for it at exit."""
    subprocess.run([sys.executable, "-c", HANGING], check=True, timeout=30)
