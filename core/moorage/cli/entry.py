"""The command itself: its sub-commands, and what becomes of errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.metadata
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeGuard

import click

from moorage.cli.options import Session, verbosity_option
from moorage.errors import MoorageError

__all__ = ["cli", "main"]

_COMMANDS: Final[Mapping[str, str]] = {
    "run": "Schedule pods: of a cluster, or of the embedded one.",
    "plugins": "List the plugins that are installed.",
    "install": "Install packages of plugins.",
    "uninstall": "Uninstall packages of plugins.",
    "new-plugin": "Write a package with a plugin of your own.",
    "verify": "Replay recorded decisions and compare.",
    "version": "Print the versions of Moorage and of what it stands on.",
}
"""Each command with its line in ``--help``, which thus imports none of them."""

_TRACEBACK_LEVEL: Final = 4
_FAULT, _INTERRUPTED = 1, 130
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, in the order in which one meets them."""
        return list(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command; None where there is none of that name."""
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"moorage.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)  # noqa: S101 - of our own modules
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="To see it work, without a cluster: moorage run --embedded --until-idle",
)
@click.version_option(importlib.metadata.version("moorage"), message="moorage %(version)s")
@verbosity_option
def cli() -> None:
    """Moorage, a Kubernetes scheduler whose every decision is made by plugins."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (None: this process's) and return its exit code.

    Whatever goes wrong is one sentence on stderr; its traceback is shown from ``-v 4`` on.
    """
    session = Session()
    _open_what_is_closed()
    try:
        answer = cli.main(argv, prog_name="moorage", standalone_mode=False, obj=session)
        sys.stdout.flush()
    except click.Abort:  # what click makes of KeyboardInterrupt
        return _INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return _FAULT
    except Exception as error:  # noqa: BLE001 - the last to see it
        return _tell(error, session)
    return answer if isinstance(answer, int) else 0


def _tell(error: Exception, session: Session) -> int:
    """Tell what went wrong, on a stderr that may be full or gone as well; return the exit code."""
    try:
        if _is_about_stdout(error):
            _forget_stdout()
            click.echo(f"Error: stdout cannot be written to: {error.strerror}", err=True)
            return _FAULT
        return _report(_cause(error), error, session)
    except OSError:
        return _FAULT


def _is_about_stdout(error: Exception) -> TypeGuard[OSError]:
    """Say whether it is stdout that cannot be written: such an error names no file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    return error.errno in _UNWRITABLE


def _open_what_is_closed() -> None:
    """Give the process the streams that it was started without (``>&-``); what they get is lost.

    Left closed, their numbers would go to the next file or socket, and everything that prints
    would have to ask first whether there is a stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - for the process
            setattr(sys, name, stream)


def _report(cause: BaseException, error: Exception, session: Session) -> int:
    """Tell what went wrong; return the exit code."""
    if isinstance(cause, click.exceptions.NoArgsIsHelpError):
        cause.show()
        return cause.exit_code
    told = session.verbosity >= _TRACEBACK_LEVEL
    if told and not isinstance(cause, click.ClickException):
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(cause, MoorageError):
        sentence, code = str(cause), cause.exit_code
    elif isinstance(cause, click.ClickException):
        sentence, code = _usage_sentence(cause), cause.exit_code
    else:
        advice = "" if told else "; run again with -v 4 for the traceback"
        what = " ".join(f"{type(cause).__name__}: {cause}".split())
        sentence, code = f"this is a fault in Moorage: {what}{advice}", _FAULT
    click.echo(f"Error: {sentence}", err=True)
    return code


def _usage_sentence(error: click.ClickException) -> str:
    sentence = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{sentence}; see {context.command_path} --help" if context else sentence


def _cause(error: BaseException) -> BaseException:
    """Return what broke a task group: something for the user, if there is any such thing."""
    while isinstance(error, BaseExceptionGroup):
        known = error.subgroup(MoorageError)
        error = (known or error).exceptions[0]
    return error


def _forget_stdout() -> None:
    """Whoever read it has gone; keep the interpreter from flushing the rest at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
