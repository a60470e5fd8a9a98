"""What commands that run plugins offer: leaving some out, and watching some at work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import click

from moorage.cli.output import notice
from moorage.config import KubeSchedulerConfiguration
from moorage.config.plugin_choice import choose_plugins
from moorage.framework.handle import Services
from moorage.framework.host import Registry, discover
from moorage.framework.profile import Framework
from moorage.framework.tracing import Total, Tracer

__all__ = ["TRACE_VARIABLE", "chosen", "disable_option", "trace_option", "traced", "unseen"]

TRACE_VARIABLE: Final = "MOORAGE_TRACE"

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


def disable_option(decorated: Decorated) -> Decorated:
    """Add ``--disable-plugin NAME``; passed on as `disabled`."""
    return click.option(
        "--disable-plugin",
        "disabled",
        multiple=True,
        metavar="NAME",
        help="Run without a plugin, or without all of a package; may be repeated, as may the words"
        " of $MOORAGE_DISABLE_PLUGINS.",
    )(decorated)


def trace_option(decorated: Decorated) -> Decorated:
    """Add ``--trace-plugins PLUGIN[:HOOK]``; passed on as `trace`."""
    return click.option(
        "--trace-plugins",
        "trace",
        multiple=True,
        metavar="PLUGIN[:HOOK]",
        help="Print each call of a plugin (*: of all) to stderr, with arguments, answer and time,"
        f" and totals at the end; may be repeated, as may the words of ${TRACE_VARIABLE}.",
    )(decorated)


def chosen(
    configuration: KubeSchedulerConfiguration, disabled: Sequence[str]
) -> tuple[KubeSchedulerConfiguration, Registry]:
    """Find the installed plugins, and leave out what is not to run; what to tell is told."""
    found = choose_plugins(configuration, discover(), disabled=disabled, environ=os.environ)
    for sentence in found.notices:
        notice(sentence)
    return found.configuration, found.registry


@contextmanager
def traced(services: Services, asked: Sequence[str]) -> Iterator[None]:
    """Watch the plugins that are asked for here or by the environment; print totals at the end."""
    watched = [*asked, *os.environ.get(TRACE_VARIABLE, "").replace(",", " ").split()]
    if not watched:
        yield
        return
    services.tracer = Tracer(watched, _line)
    try:
        yield
    finally:
        _print_totals(services.tracer.totals())


def unseen(services: Services, frameworks: Iterable[Framework]) -> Sequence[str]:
    """Say, in a sentence, which plugins are to be traced that no profile runs."""
    if services.tracer is None:
        return ()
    running = {plugin.name for framework in frameworks for plugin in framework.plugins}
    missing = services.tracer.unseen(running)
    if not missing:
        return ()
    names = ", ".join(missing)
    return (f"no profile runs these plugins, so there is nothing to trace of them: {names}",)


def _line(text: str) -> None:
    click.echo(f"trace: {text}", err=True)


def _print_totals(totals: Iterable[Total]) -> None:
    seconds: dict[str, float] = {}
    for total in totals:
        seconds[total.plugin] = seconds.get(total.plugin, 0.0) + total.seconds
    if not seconds:
        _line("nothing that is traced was called")
    for plugin, taken in sorted(seconds.items(), key=lambda item: -item[1]):
        hooks = ", ".join(
            f"{one.hook} {one.calls}x {one.seconds * 1000:.3f} ms"
            + (f" ({one.faults} raised)" if one.faults else "")
            for one in totals
            if one.plugin == plugin
        )
        _line(f"total of {plugin}: {taken * 1000:.3f} ms: {hooks}")
