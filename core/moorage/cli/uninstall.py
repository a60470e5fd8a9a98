"""`moorage uninstall`: packages of plugins, out of the environment that Moorage runs in."""

from __future__ import annotations

import importlib.metadata
import sys

import click
from packaging.requirements import Requirement
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
    if not any(name.startswith("-") for name in names):  # else some may be values of pip's options
        for package in packages:
            _require_installed(package)
    if not yes and not sys.stdin.isatty():
        raise MoorageError("there is no terminal to ask on; give --yes to uninstall without asking")
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
    if canonicalize_name(package) in _foundations():
        raise MoorageError(f"{package} is no package of plugins: moorage itself stands on it")
    return package


def _require_installed(package: str) -> None:
    if not _is_installed(package):
        raise MoorageError(
            f"{package!r} is neither a plugin nor a package that is installed; `moorage plugins` "
            "lists those there are"
        )


def _foundations() -> frozenset[str]:
    """Return the packages without which Moorage would not start, those that these need among them."""
    found: set[str] = set()
    left = ["moorage"]
    while left:
        for text in _requirements(left.pop()):
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and name not in found:
                found.add(name)
                left.append(name)
    return frozenset(found)


def _requirements(package: str) -> list[str]:
    return (importlib.metadata.requires(package) or []) if _is_installed(package) else []


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):  # an empty name is a ValueError
        return False
    return True
