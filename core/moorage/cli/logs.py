"""What `moorage run` logs, how much of it, and how a line looks.

klog's levels, as ``-v`` takes them::

    0, 1  warnings and errors; who leads, where health and metrics are served
    2     what became of each pod
    3     each attempt
    4     tracebacks
    8     what the libraries have to say
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime
from typing import Any, Final

from moorage.fault_log import NOTICE

__all__ = ["FORMATS", "set_up_logging"]

FORMATS: Final = ("text", "json")
"""What ``--logging-format`` takes."""

_TRACES: Final = 4
_LIBRARIES: Final = 8
_LEVELS: Final = {0: NOTICE, 1: NOTICE, 2: logging.INFO, 3: logging.DEBUG}
_EVERYTHING: Final = 1
_LETTERS: Final = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"))


_VERBOSITIES: Final = ((logging.INFO, 2), (logging.DEBUG, 3))
_SEVERITIES: Final = {"F": "fatal", "E": "error", "W": "warning", "I": "info"}


def set_up_logging(verbosity: int, form: str = "text") -> None:
    """Log to stderr from now on, in place of what was set up before; `form` is one of `FORMATS`."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = _JsonFormatter if form == "json" else _KlogFormatter
    handler.setFormatter(formatter(tracebacks=verbosity >= _TRACES))
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
        letter = _letter(record)
        when = datetime.fromtimestamp(record.created).astimezone()
        line = f"{letter}{when:%m%d %H:%M:%S.%f} {record.name}] {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return line
        if self._tracebacks:
            return f"{line}\n{self.formatException(record.exc_info or (None, None, None))}"
        return " ".join(f"{line}: {type(error).__name__}: {error}".split())


class _JsonFormatter(logging.Formatter):
    """One JSON object a line, with the keys that Kubernetes' components use: ts, caller, msg, v, err.

    What a line is about (pod, node) stands under keys of its own, where whoever logs gave
    ``extra={"about": {...}}``.
    """

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        letter = _letter(record)
        line: dict[str, Any] = {
            "ts": round(record.created, 6),
            "logger": record.name,
            "caller": f"{record.module}.py:{record.lineno}",
            "severity": _SEVERITIES[letter],
            "msg": record.getMessage(),
        }
        if letter == "I":
            line["v"] = _verbosity(record)
        line |= getattr(record, "about", {})
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["err"] = f"{type(error).__name__}: {error}"
            if self._tracebacks:
                line["stacktrace"] = self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line, default=str)


def _letter(record: logging.LogRecord) -> str:
    return next((letter for level, letter in _LETTERS if record.levelno >= level), "I")


def _verbosity(record: logging.LogRecord) -> int:
    """Return klog's level of a line that tells of nothing wrong."""
    if record.levelno >= NOTICE:
        return 0
    return next((v for level, v in _VERBOSITIES if record.levelno >= level), _TRACES)
