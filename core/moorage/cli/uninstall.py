"""`moorage uninstall`: packages of plugins, out of the environment that Moorage runs in."""

from __future__ import annotations

import click
from packaging.utils import canonicalize_name

from moorage.cli.installing import pip_command, run_pip
from moorage.cli.options import verbosity_option
from moorage.cli.output import notice
from moorage.errors import MoorageError
from moorage.framework.host import Registry, discover

__all__ = ["command"]


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@verbosity_option
def command(names: tuple[str, ...], *, yes: bool) -> int:
    """Uninstall packages with pip, named by themselves or by one of their plugins.

    Whatever else pip takes goes behind --.
    """
    registry = discover()
    packages = tuple(dict.fromkeys(_package(name, registry) for name in names))
    return run_pip("uninstall", *(("--yes",) if yes else ()), *packages)


def _package(name: str, registry: Registry) -> str:
    """Return the package that a name means; MoorageError for what must stay."""
    if name.startswith("-"):
        return name
    if name in registry:
        package = registry.source(name).distribution
        others = [
            source.name
            for source in registry.sources()
            if source.distribution == package and source.name != name
        ]
        if others and package != "moorage":
            notice(f"{package} has {', '.join(others)} as well")
    else:
        package = name
    if canonicalize_name(package) == "moorage":
        raise MoorageError(
            f"{name} is part of moorage, which is running; disable it in a profile, or type: "
            f"{pip_command('uninstall', 'moorage')}"
        )
    return package
