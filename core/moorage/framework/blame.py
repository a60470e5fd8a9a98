"""Which exceptions that come out of a call of a plugin are the plugin's."""

from __future__ import annotations

import asyncio
import signal

__all__ = ["current_task", "let_through"]


def let_through(error: BaseException, *, awaited: bool = False) -> None:
    """Raise `error` again where it is not the plugin's; `awaited`: it may have come from an await.

    Not the plugin's is what comes from outside: that our own task was cancelled, that a coroutine of
    ours is thrown away, and Ctrl-C where Python's own handler turns it into an exception. Whatever
    else there is, such as a ``SystemExit``, was raised by the plugin and costs one pod its turn.
    """
    if isinstance(error, Exception):
        return
    if isinstance(error, KeyboardInterrupt):
        # In an event loop signals are handled otherwise, and do not raise.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            raise error
        return
    task = current_task()
    if isinstance(error, asyncio.CancelledError):
        if task is not None and task.cancelling():
            raise error
    elif isinstance(error, GeneratorExit) and awaited and task is None:
        raise error


def current_task() -> asyncio.Task[object] | None:
    """Return the task that calls; None where none does, or no loop runs."""
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
