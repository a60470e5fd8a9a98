"""How a fault that ends nothing is logged: one sentence, with its traceback only for who asks.

A fault of a plugin, or of ours, costs one pod or one object its turn; the process goes on.
"""

from __future__ import annotations

import logging

from moorage.errors import MoorageError

__all__ = ["NOTICE", "TRACE", "log_fault", "text_of", "worded"]

NOTICE = 25
"""The level of what everybody should read though nothing is wrong: klog's verbosity 0."""
TRACE = 5
"""The level of ``logging`` from which on tracebacks are logged: klog's verbosity 4."""


def log_fault(logger: logging.Logger, error: BaseException, sentence: str = "") -> None:
    """Log an error by a sentence of its own, or by the one that it carries itself."""
    if not sentence:
        itself = isinstance(error, MoorageError)
        sentence = text_of(error) if itself else worded(error)
    logger.error("%s", sentence, exc_info=error if logger.isEnabledFor(TRACE) else None)


def text_of(error: BaseException) -> str:
    """Return the text of an error; a plugin's own may fail to give one."""
    try:
        return str(error)
    except BaseException as fault:  # noqa: BLE001 - what went wrong is said all the same
        return f"(no text: its __str__ raised {type(fault).__name__})"


def worded(error: BaseException) -> str:
    """Say in one line what was raised."""
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
