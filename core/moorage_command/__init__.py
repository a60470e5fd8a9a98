"""The script `moorage`: all that it does itself is to end, quietly on Ctrl-C, and in time.

In: the way to `moorage.cli`, and the end of a process in which plugins left threads running. It is
a package of its own since importing anything of `moorage` imports NumPy and the interface for
plugins first, and Ctrl-C may come in that time.

Out: everything else.
"""

from __future__ import annotations

import os
import sys
import threading
import time

__all__ = ["main"]

_INTERRUPTED = 130
_PATIENCE_SECONDS = 5.0
"""How long threads that plugins left running may keep a process that has done its work."""


def main() -> int:
    """Run the command with this process's arguments and return its exit code."""
    try:
        from moorage.cli import main as command  # noqa: PLC0415 - this is what takes its time

        code = command()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if _left_running():  # the interpreter is about to wait for them, for ever if need be
        threading.Thread(target=_end_without_them, args=(code,), daemon=True).start()
    return code


def _left_running() -> list[str]:
    """Return the names of the threads that keep a process from ending."""
    main_thread = threading.main_thread()
    return [one.name for one in threading.enumerate() if not one.daemon and one is not main_thread]


def _end_without_them(code: int) -> None:
    time.sleep(_PATIENCE_SECONDS)
    names = ", ".join(_left_running())
    if not names:
        return
    try:
        sys.stdout.flush()
        sys.stderr.write(f"Notice: ended without waiting for threads of plugins: {names}\n")
        sys.stderr.flush()
    finally:
        os._exit(code)
