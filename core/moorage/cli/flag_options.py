"""kube-scheduler's flags on the command line of `moorage run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import click
from click.core import ParameterSource

from moorage.config.flags import FLAGS, FlagSpec, normalise_arguments, parse_flag

__all__ = ["FlagCommand", "given_flags", "without_effect"]

_ELSEWHERE: Final = frozenset({"help", "v"})
"""Flags that every command of ours has anyway."""
_SPECS: Final = tuple(spec for spec in FLAGS if spec.name not in _ELSEWHERE)
_KEY: Final = "moorage.flags"


class FlagCommand(click.Command):
    """A command that takes kube-scheduler's flags too, in Go's spelling.

    Those that do something are in ``--help`` under their own heading, the rest in ``--help-all``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **kwargs)
        self._flags = [(spec, _option(spec)) for spec in _SPECS]
        self.params += [option for _, option in self._flags]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring Go's spelling into click's before anything else."""
        return super().parse_args(ctx, normalise_arguments(args))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show our own options, then kube-scheduler's that do something."""
        flags = [option for _, option in self._flags]
        own = [param for param in self.get_params(ctx) if param not in flags]
        _section(ctx, formatter, "Options", own)
        effective = [option for spec, option in self._flags if not spec.without_effect]
        _section(ctx, formatter, "Flags of kube-scheduler", effective)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(
                "All other flags of kube-scheduler are accepted as well and change nothing;"
                " --help-all lists them."
            )

    def help_about_the_rest(self, ctx: click.Context) -> str:
        """Return the flags that change nothing, with the reason."""
        formatter = ctx.make_formatter()
        idle = [(spec.without_effect, option) for spec, option in self._flags]
        for reason in dict.fromkeys(reason for reason, _ in idle if reason):
            members = [option for why, option in idle if why == reason]
            _section(ctx, formatter, f"Accepted without effect: {reason}", members)
        return formatter.getvalue().rstrip("\n")


def given_flags(ctx: click.Context) -> dict[str, Any]:
    """Return the flags of kube-scheduler that were given, by name, as Python values."""
    found: dict[str, Any] = ctx.meta.get(_KEY, {})
    return found


def without_effect(flags: Sequence[str]) -> list[str]:
    """Say, one sentence a reason, which of the flags given change nothing."""
    given = [spec for spec in _SPECS if spec.name in flags and spec.without_effect]
    reasons = dict.fromkeys(spec.without_effect for spec in given)
    return [
        f"no effect: {', '.join(f'--{spec.name}' for spec in given if spec.without_effect == why)}"
        f" ({why})"
        for why in reasons
    ]


def _option(spec: FlagSpec) -> click.Option:
    # A value is always expected: `normalise_arguments` gives one to every boolean flag.
    return click.Option(
        [f"--{spec.name}", f"flag_{spec.name.replace('-', '_')}"],
        metavar=spec.type.upper(),
        multiple=spec.repeatable,
        expose_value=False,
        callback=_keep(spec),
        help=spec.help + (f"  [{spec.default}]" if spec.default else ""),
    )


def _keep(spec: FlagSpec) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Make a callback that keeps a flag's value where it was given."""

    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:  # noqa: ANN401
        if ctx.get_parameter_source(str(param.name)) is not ParameterSource.COMMANDLINE:
            return
        parsed = [parse_flag(spec, text) for text in (value if spec.repeatable else (value,))]
        ctx.meta.setdefault(_KEY, {})[spec.name] = _joined(parsed)

    return keep


def _joined(values: list[Any]) -> Any:  # noqa: ANN401 - whatever the flag's type is
    """Join what a flag that may be repeated was given; the last word counts where two differ."""
    joined = values[0]
    for value in values[1:]:
        joined = {**joined, **value} if isinstance(joined, dict) else [*joined, *value]
    return joined


def _section(
    ctx: click.Context,
    formatter: click.HelpFormatter,
    heading: str,
    options: Sequence[click.Parameter],
) -> None:
    records = [record for option in options if (record := option.get_help_record(ctx))]
    with formatter.section(heading):
        formatter.write_dl(records)
