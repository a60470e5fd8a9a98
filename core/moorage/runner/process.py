"""Where the event loop meets the rest of the process: signals, and threads of plugins."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

__all__ = ["stopping_by_signals", "threadsafe"]

_logger = logging.getLogger(__name__)


PATIENCE_SECONDS = 5.0
"""How long the loop may take to notice that the process is to end, before that is done without it."""
ENDING_SECONDS = 25.0
"""How long the end may take then: ten seconds are for bindings, and a kubelet waits for thirty."""
_INTERRUPTED = 130


def _nothing() -> str:
    return ""


@contextmanager
def stopping_by_signals(
    stop: Callable[[], None], *, interrupt: bool = True, busy: Callable[[], str] = _nothing
) -> Iterator[None]:
    """Have SIGTERM, SIGHUP and, with `interrupt`, SIGINT call `stop`, in the loop that runs now.

    A signal that the process was started to ignore (``nohup``) stays ignored. Where the loop does
    not come round to it, or the block to its end, since a plugin holds it up, the process ends all
    the same: see `_Deadline`. `busy` says what holds the loop up.
    """
    loop = asyncio.get_running_loop()
    asked = (signal.SIGTERM, signal.SIGHUP, *((signal.SIGINT,) if interrupt else ()))
    numbers = [number for number in asked if signal.getsignal(number) is not signal.SIG_IGN]
    deadline = _Deadline(loop, busy)

    def stop_by(number: signal.Signals) -> None:
        _logger.info("Received %s, shutting down", number.name)
        stop()

    for number in numbers:
        loop.add_signal_handler(number, stop_by, number)
    # The loop hears of signals by a file descriptor; these handlers are called in the midst of
    # whatever holds it up, as long as that is Python.
    before = {number: signal.getsignal(number) for number in {*numbers, signal.SIGINT}}
    for number, handler in before.items():
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, partial(deadline.set_by, handler))
    try:
        yield
    finally:
        deadline.is_met()
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in numbers:
            loop.remove_signal_handler(number)


class _Deadline:
    """Ends the process where it was told to end and does not come to it.

    What is lost with it is what a crash would lose: a restart reads all there is to know. The first
    signal leaves some seconds, a SIGINT after it none.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, busy: Callable[[], str]) -> None:
        self._loop = loop
        self._busy = busy
        self._told: SimpleQueue[signal.Signals | None] = SimpleQueue()  # made for signal handlers
        self._signal: signal.Signals | None = None
        self._heard = threading.Event()
        self._over = threading.Event()
        threading.Thread(target=self._wait, name="moorage-deadline", daemon=True).start()

    def set_by(
        self, handler: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None
    ) -> None:
        """Note a signal, from its handler; what handled it before does so too."""
        if self._signal is not None and number == signal.SIGINT:
            self._end("something does not end at once", _INTERRUPTED)
        self._signal = signal.Signals(number)
        self._told.put(self._signal)
        self._loop.call_soon_threadsafe(self._heard.set)
        handler(number, frame)

    def is_met(self) -> None:
        """Note that all is done."""
        self._over.set()
        self._heard.set()
        self._told.put(None)

    def _wait(self) -> None:
        told = self._told.get()
        if told is None:
            return
        code = _INTERRUPTED if told is signal.SIGINT else 1
        if not self._heard.wait(PATIENCE_SECONDS):
            self._end("the scheduling loop does not move", code)
        if not self._over.wait(ENDING_SECONDS):
            self._end("a hook of a plugin, such as pre_bind or close, does not end", code)

    def _end(self, what: str, code: int) -> NoReturn:
        name = self._signal.name if self._signal is not None else ""
        # Not by way of logging, whose locks may be held by what is interrupted here.
        text = f"Received {name}, but {self._busy() or what}: ended without it\n"
        os.write(2, text.encode())
        os._exit(code)


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
