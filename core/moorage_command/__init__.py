"""The script `moorage`: all that it does itself is to end quietly on Ctrl-C.

In: the way to `moorage.cli`. It is a package of its own since importing anything of `moorage`
imports NumPy and the interface for plugins first, and Ctrl-C may come in that time.

Out: everything else.
"""

from __future__ import annotations

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> int:
    """Run the command with this process's arguments and return its exit code."""
    try:
        from moorage.cli import main as command  # noqa: PLC0415 - this is what takes its time

        return command()
    except KeyboardInterrupt:
        return _INTERRUPTED
