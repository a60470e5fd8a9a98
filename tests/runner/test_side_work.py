"""Work beside the scheduling: it harms nobody, and ends when it must."""

from __future__ import annotations

import asyncio
import logging

import pytest

from moorage import Services
from moorage.framework.handle import Handle
from moorage.runner.side_work import SideWork


async def test_work_is_done_in_a_task_of_its_own() -> None:
    """Who asks for it goes on at once; until it is done, nothing is idle."""
    work = SideWork()
    done = []

    async def note() -> None:
        await asyncio.sleep(0)
        done.append(True)

    assert work.spawn(note())
    assert not work.is_idle
    assert done == []
    assert await work.finish(5.0) == 0
    assert done == [True]
    assert work.is_idle


async def test_work_can_be_asked_for_from_any_thread() -> None:
    """A plugin's binding hooks run in threads."""
    work = SideWork()
    done = asyncio.Event()

    async def note() -> None:
        done.set()

    await asyncio.to_thread(lambda: work.spawn(note()))
    async with asyncio.timeout(5):
        await done.wait()


async def test_a_fault_ends_its_own_work_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged in one sentence."""
    work = SideWork()
    done = []

    async def fail() -> None:
        raise ValueError("broken")

    async def note() -> None:
        done.append(True)

    with caplog.at_level(logging.ERROR):
        work.spawn(fail())
        work.spawn(note())
        assert await work.finish(5.0) == 0
    assert done == [True]
    assert "broken" in caplog.text


async def test_work_that_hangs_is_cut_short() -> None:
    """It can clean up."""
    work = SideWork()
    cleaned = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    work.spawn(hang())
    assert await work.finish(0.01) == 1
    assert cleaned == [True]
    assert work.is_idle


def test_without_an_event_loop_nothing_is_begun() -> None:
    """As in `moorage verify`; the plugin is told."""

    async def never() -> None:
        raise AssertionError("must not run")

    handle = Handle(Services(), plugin_name="Mine", profile_name="p")
    assert not handle.spawn(never())
