"""Where the event loop meets the rest of the process: signals, and threads of plugins."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["stopping_by_signals", "threadsafe"]

_logger = logging.getLogger(__name__)


@contextmanager
def stopping_by_signals(stop: Callable[[], None], *, interrupt: bool = True) -> Iterator[None]:
    """Have SIGTERM, SIGHUP and, with `interrupt`, SIGINT call `stop`, in the loop that runs now.

    A signal that the process was started to ignore (``nohup``) stays ignored.
    """
    loop = asyncio.get_running_loop()
    asked = (signal.SIGTERM, signal.SIGHUP, *((signal.SIGINT,) if interrupt else ()))
    numbers = [number for number in asked if signal.getsignal(number) is not signal.SIG_IGN]

    def stop_by(number: signal.Signals) -> None:
        _logger.info("Received %s, shutting down", number.name)
        stop()

    for number in numbers:
        loop.add_signal_handler(number, stop_by, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def threadsafe(function: Callable[..., None]) -> Callable[..., Any]:
    """Return a call that plugins may make from their threads too; the loop that runs now makes it."""
    loop = asyncio.get_running_loop()
    thread = threading.get_ident()

    def call(*arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on
        if threading.get_ident() == thread:
            function(*arguments, **named)
        else:
            loop.call_soon_threadsafe(lambda: function(*arguments, **named))

    return call
