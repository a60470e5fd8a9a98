"""What `moorage run` logs, how much of it, and how a line looks.

klog's levels, as ``-v`` takes them::

    0, 1  warnings and errors
    2     what became of each pod
    3     each attempt
    4     tracebacks
    8     what the libraries have to say
"""

from __future__ import annotations

import logging
import sys
from datetime import datetime
from typing import Final

__all__ = ["set_up_logging"]

_TRACES: Final = 4
_LIBRARIES: Final = 8
_LEVELS: Final = {0: logging.WARNING, 1: logging.WARNING, 2: logging.INFO, 3: logging.DEBUG}
_EVERYTHING: Final = 1
_LETTERS: Final = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"))


def set_up_logging(verbosity: int) -> None:
    """Log to stderr from now on, in place of what was set up before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_KlogFormatter(tracebacks=verbosity >= _TRACES))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if verbosity >= _LIBRARIES else logging.WARNING)
    logging.getLogger("moorage").setLevel(_LEVELS.get(max(0, verbosity), _EVERYTHING))


class _KlogFormatter(logging.Formatter):
    """Lines as klog writes them: ``I1130 18:21:23.489598 moorage.runner] text``."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """Write one record; without tracebacks, an exception is told in the same line."""
        letter = next((letter for level, letter in _LETTERS if record.levelno >= level), "I")
        when = datetime.fromtimestamp(record.created).astimezone()
        line = f"{letter}{when:%m%d %H:%M:%S.%f} {record.name}] {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return line
        if self._tracebacks:
            return f"{line}\n{self.formatException(record.exc_info or (None, None, None))}"
        return " ".join(f"{line}: {type(error).__name__}: {error}".split())
