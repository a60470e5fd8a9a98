"""`moorage install`: packages of plugins, into the environment that Moorage runs in."""

from __future__ import annotations

import importlib

import click

from moorage.cli.installing import run_pip
from moorage.cli.options import verbosity_option
from moorage.framework.host import PluginSource, discover

__all__ = ["command"]


@click.command(
    epilog="""\b
Whatever else pip takes goes behind --:
  moorage install moorage-zone-cost -- --index-url https://example.com/simple
"""
)
@click.argument("packages", metavar="NAME|PATH|URL...", nargs=-1)
@click.option(
    "-e", "--editable", multiple=True, metavar="PATH", help="Install a folder that you work on."
)
@click.option("-U", "--upgrade", is_flag=True, help="Bring packages up to date.")
@click.option(
    "-r", "--requirement", multiple=True, metavar="FILE", help="Install what a file lists."
)
@verbosity_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    packages: tuple[str, ...],
    editable: tuple[str, ...],
    requirement: tuple[str, ...],
    *,
    upgrade: bool,
) -> int:
    """Install packages of plugins with pip, into this environment.

    Installed is not enabled: a plugin runs once a profile names it.
    """
    if not (packages or editable or requirement):
        raise click.UsageError("name a package, a folder or a URL to install", ctx)
    before = {(one.name, one.origin) for one in discover().sources()}
    arguments = [*(("--upgrade",) if upgrade else ())]
    arguments += [part for path in editable for part in ("--editable", path)]
    arguments += [part for path in requirement for part in ("--requirement", path)]
    code = run_pip("install", *arguments, *packages)
    if code == 0:
        importlib.invalidate_caches()
        _tell([one for one in discover().sources() if (one.name, one.origin) not in before])
    return code


def _tell(new: list[PluginSource]) -> None:
    if not new:
        click.echo("No plugin came with that; `moorage plugins` lists those there are.")
        return
    names = ", ".join(f"{source.name} ({source.origin})" for source in new)
    click.echo(f"Now available: {names}.")
    click.echo(f"To see what it does and what it takes: moorage plugins show {new[0].name}")
