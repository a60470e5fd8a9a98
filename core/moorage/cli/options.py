"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

__all__ = ["Port", "Session", "output_option", "verbosity_option"]

_LAST_PORT: Final = 65535

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


@dataclass
class Session:
    """What one call of the command keeps: klog's level, 0 to 10, which decides about tracebacks."""

    verbosity: int = 0


class Port(click.ParamType[int]):
    """A TCP port, 0 for any that is free."""

    name = "port"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return it as a number."""
        try:
            number = int(str(value))
        except ValueError:
            number = -1
        if not 0 <= number <= _LAST_PORT:
            self.fail(f"{value!r} is no port: a number from 0 to {_LAST_PORT}", param, ctx)
        return number


def verbosity_option(decorated: Decorated) -> Decorated:
    """Add ``-v N``; the level is kept in the `Session`."""
    return click.option(
        "-v",
        "--v",
        "verbosity",
        metavar="N",
        expose_value=False,
        callback=_keep_verbosity,
        help="How much to log, in klog's levels: 2 what becomes of pods, 3 attempts, 4 tracebacks,"
        " 8 what libraries say.",
    )(decorated)


def _keep_verbosity(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    try:
        level = int(value.removeprefix("="))  # ``-v=2`` is Go's spelling
        if level < 0:
            raise ValueError(value)  # noqa: TRY301 - told like any other that is none
    except ValueError:
        sentence = f"{value!r} is no level of logging, such as 0, 2 or 4"
        raise click.BadParameter(sentence, ctx, param) from None
    ctx.ensure_object(Session).verbosity = level


def output_option(*formats: str, default: str = "table") -> Callable[[Decorated], Decorated]:
    """Add ``-o FORMAT``, as kubectl has it; passed on as `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice((default, *formats)),
        metavar="|".join(formats),
        default=default,
        help=f"Print as {', '.join(formats[:-1])} or {formats[-1]} instead of a {default}."
        if len(formats) > 1
        else f"Print as {formats[0]}.",
    )
