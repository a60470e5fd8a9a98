"""`moorage plugins`: every installed plugin, where it comes from, who uses it, whether it works."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click
from packaging.requirements import Requirement
from pydantic.alias_generators import to_camel, to_snake
from rich.console import RenderableType
from rich.text import Text

from moorage.cli.options import output_option, verbosity_option
from moorage.cli.output import notice, print_document, print_renderable, table
from moorage.config import KubeSchedulerConfiguration, default_configuration, load_configuration
from moorage.config.producers import assemble
from moorage.errors import MoorageError, PluginError
from moorage.framework.handle import Services
from moorage.framework.host import PluginSource, Registry, discover
from moorage.framework.points import POINTS, hooks_of, points_of

__all__ = ["InstalledPlugin", "command", "installed_plugins"]

_STYLES = {"enabled": "green", "available": "", "broken": "bold red"}


@dataclass(frozen=True, kw_only=True)
class InstalledPlugin:
    """One installed plugin. `reason` says why it is broken; `supports` which Moorage it is for."""

    name: str
    distribution: str
    version: str
    supports: str
    points: tuple[str, ...]
    profiles: tuple[str, ...]
    state: Literal["enabled", "available", "broken"]
    reason: str
    summary: str

    def document(self) -> dict[str, Any]:
        """Return what ``-o json`` prints; names are camelCase."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "supports": self.supports,
            "extensionPoints": [to_camel(point) for point in self.points],
            "profiles": list(self.profiles),
            "state": self.state,
            "reason": self.reason,
            "summary": self.summary,
        }


def installed_plugins(
    registry: Registry, profiles: Mapping[str, Iterable[str]]
) -> list[InstalledPlugin]:
    """Describe all plugins, by name; `profiles` gives the plugins in use by scheduler name.

    Every plugin is imported for that; one that cannot be is described as broken.
    """
    return [_describe(source, registry, profiles) for source in registry.sources()]


def _describe(
    source: PluginSource, registry: Registry, profiles: Mapping[str, Iterable[str]]
) -> InstalledPlugin:
    points: tuple[str, ...] = ()
    reason = summary = ""
    try:
        registry.source(source.name)
        plugin = source.load()
    except PluginError as error:
        reason = str(error)
    else:
        offered = points_of(hooks_of(plugin))
        points = tuple(point for point in POINTS if point in offered)
        summary = (inspect.getdoc(plugin) or "").partition("\n")[0]
    users = tuple(name for name, plugins in profiles.items() if source.name in plugins)
    return InstalledPlugin(
        name=source.name,
        distribution=source.distribution,
        version=source.version,
        supports=str(Requirement(source.built_for).specifier) if source.built_for else "",
        points=points,
        profiles=users,
        state="broken" if reason else "enabled" if users else "available",
        reason=reason,
        summary=summary,
    )


class _ListByDefault(click.Group):
    """`moorage plugins` is `moorage plugins list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in the name of the command where it is left out."""
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else ["list", *args])


@click.group(cls=_ListByDefault)
def command() -> None:
    """List the plugins that are installed."""


def _point(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Take an extension point in the spelling of configurations or in Python's."""
    if value is None or to_snake(value) in POINTS:
        return value and to_snake(value)
    known = ", ".join(map(to_camel, POINTS))
    sentence = f"{value!r} is no extension point; there are {known}"
    raise click.BadParameter(sentence, ctx, param)


@command.command("list")
@click.option("--config", metavar="FILE", help="The configuration whose profiles count as users.")
@click.option("--point", callback=_point, metavar="POINT", help="Only those of an extension point.")
@output_option("wide", "json", "yaml", "name")
@verbosity_option
def list_plugins(config: str | None, point: str | None, output: str) -> None:
    """List every installed plugin.

    Shown are distribution, version, extension points, the profiles that use it, and its state:
    enabled (some profile uses it), available, or broken and why. Without --config, the profile is
    the default one.
    """
    registry = discover()
    configuration = load_configuration(config) if config else default_configuration()
    found = [
        plugin
        for plugin in installed_plugins(registry, _users(configuration, registry))
        if point is None or point in plugin.points
    ]
    if output in {"json", "yaml"}:
        print_document([plugin.document() for plugin in found], output)
    elif output == "name":
        for plugin in found:
            click.echo(plugin.name)
    else:
        _print(found, wide=output == "wide")


def _users(
    configuration: KubeSchedulerConfiguration, registry: Registry
) -> dict[str, frozenset[str]]:
    """Return which plugins each profile uses; what keeps the configuration from running is told."""
    try:
        assembly = assemble(configuration, registry, services=Services())
    except MoorageError as error:
        notice(f"this configuration would not run: {error}")
        return {
            profile.scheduler_name: profile.plugins.enabled_names()
            for profile in configuration.profiles
        }
    for sentence in assembly.notices:
        notice(sentence)
    return {
        name: frozenset(plugin.name for plugin in framework.plugins)
        for name, framework in assembly.frameworks.items()
    }


def _print(plugins: Sequence[InstalledPlugin], *, wide: bool) -> None:
    columns = ["NAME", "DISTRIBUTION", "VERSION", "STATE", "PROFILES"]
    columns += ["SUPPORTS", "EXTENSION POINTS", "SUMMARY"] if wide else ["EXTENSION POINTS"]
    rows: list[list[RenderableType]] = [
        [
            plugin.name,
            plugin.distribution,
            plugin.version,
            Text(plugin.state, style=_STYLES[plugin.state]),
            ", ".join(plugin.profiles) or "-",
            *([plugin.supports or "any"] if wide else []),
            ", ".join(map(to_camel, plugin.points)) or "-",
            *([plugin.summary] if wide else []),
        ]
        for plugin in plugins
    ]
    if not rows:
        click.echo("No plugin is installed that does this.")
        return
    broken = [f"{plugin.name}: {plugin.reason}" for plugin in plugins if plugin.reason]
    print_renderable(table(columns, rows), *(["", *broken] if broken else []))
