"""Coroutines run to their end from plain code, also where an event loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_to_end"]

T = TypeVar("T")


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns; inside of an ``async`` test it gets a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
            raised.append(error)

    thread = threading.Thread(target=run, name="moorage-testing")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]
