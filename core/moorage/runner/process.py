"""Where the event loop meets the rest of the process: signals, and threads of plugins."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

__all__ = ["stopping_by_signals", "threadsafe"]

_logger = logging.getLogger(__name__)


PATIENCE_SECONDS = 10.0
"""How long the loop may take to hear of a signal, before the process ends without it."""
ENDING_SECONDS = 28.0
"""How long the end may take from the signal on. Ten seconds are for bindings in flight, five for the
Lease, ten for plugins that close; a kubelet waits for thirty."""
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

    def stop_by(number: signal.Signals) -> None:
        _logger.info("Received %s, shutting down", number.name)
        stop()

    for number in numbers:
        loop.add_signal_handler(number, stop_by, number)
    deadline = _Deadline(loop, busy)
    # The loop hears of signals by a file descriptor; these handlers are called in the midst of
    # whatever holds it up, as long as that is Python. SIGINT, without `interrupt`, is asyncio's own.
    before = {
        number: handler
        for number in {*numbers, signal.SIGINT}
        if callable(handler := signal.getsignal(number))
        and handler is not signal.default_int_handler
    }
    for number, handler in before.items():
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
    signal leaves some seconds, a SIGINT after it none. Whatever a signal handler calls takes no
    lock, which the code that it interrupts may hold.
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
        begun = time.monotonic()
        code = _INTERRUPTED if told is signal.SIGINT else 1
        if not self._heard.wait(PATIENCE_SECONDS):
            self._end("the scheduling loop does not move", code)
        if not self._over.wait(ENDING_SECONDS - (time.monotonic() - begun)):
            self._end("a hook of a plugin, such as pre_bind or close, does not end", code)

    def _end(self, what: str, code: int) -> NoReturn:
        try:
            name = self._signal.name if self._signal is not None else ""
            text = f"Received {name}, but {self._busy() or what}: ended without it\n"
            # Not by way of logging, whose locks may be held by what is interrupted here.
            os.write(2, text.encode())
        finally:
            os._exit(code)  # also where nobody can be told


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
