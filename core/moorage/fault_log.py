"""How a fault that ends nothing is logged: one sentence, with its traceback only for who asks.

A fault of a plugin, or of ours, costs one pod or one object its turn; the process goes on.
"""

from __future__ import annotations

import logging

from moorage.errors import MoorageError

__all__ = ["NOTICE", "TRACE", "log_fault"]

NOTICE = 25
"""The level of what everybody should read though nothing is wrong: klog's verbosity 0."""
TRACE = 5
"""The level of ``logging`` from which on tracebacks are logged: klog's verbosity 4."""


def log_fault(logger: logging.Logger, error: BaseException, sentence: str = "") -> None:
    """Log an error by a sentence of its own, or by the one that it carries itself."""
    if not sentence:
        itself = isinstance(error, MoorageError)
        sentence = str(error) if itself else f"{type(error).__name__}: {error}"
    logger.error("%s", sentence, exc_info=error if logger.isEnabledFor(TRACE) else None)
