"""pip of the interpreter that runs Moorage, or the command to type where there is none."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys

from moorage.errors import MoorageError

__all__ = ["has_pip", "pip_command", "run_pip"]


def has_pip() -> bool:
    """Say whether this interpreter has pip; environments made by uv have none."""
    return importlib.util.find_spec("pip") is not None


def pip_command(*arguments: str) -> str:
    """Return the command line to type for what pip would do with `arguments`."""
    if has_pip():
        return shlex.join([sys.executable, "-m", "pip", *arguments])
    what, *rest = arguments
    return shlex.join(["uv", "pip", what, "--python", sys.executable, *rest])


def run_pip(*arguments: str) -> int:
    """Run pip on this terminal; return its exit code. Raises MoorageError where there is none."""
    if not has_pip():
        typed = [argument for argument in arguments if argument != "--yes"]
        raise MoorageError(f"this environment has no pip; type: {pip_command(*typed)}")
    sys.stdout.flush()
    environ = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(  # noqa: S603 - what the user asked for
        [sys.executable, "-m", "pip", *arguments], env=environ, check=False
    )
    return done.returncode
