"""`moorage plugins`: every installed plugin, where it comes from, who uses it, whether it works."""

from __future__ import annotations

from collections.abc import Sequence

import click
from pydantic.alias_generators import to_camel, to_snake
from rich.console import RenderableType
from rich.text import Text

from moorage.cli.installed_plugin import InstalledPlugin, describe, installed_plugins
from moorage.cli.options import output_option, verbosity_option
from moorage.cli.output import notice, print_document, print_renderable, table
from moorage.cli.plugin_options import chosen, disable_option
from moorage.cli.plugin_show import print_plugin
from moorage.config import KubeSchedulerConfiguration, default_configuration, load_configuration
from moorage.config.producers import assemble
from moorage.config.sentences import closest
from moorage.errors import MoorageError, PluginError
from moorage.framework.handle import Services
from moorage.framework.host import Registry, discover
from moorage.framework.points import POINTS

__all__ = ["command"]

_STYLES = {"enabled": "green", "available": "", "broken": "bold red"}


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
@disable_option
@click.option("--point", callback=_point, metavar="POINT", help="Only those of an extension point.")
@output_option("wide", "json", "yaml", "name")
@verbosity_option
def list_plugins(
    config: str | None, disabled: tuple[str, ...], point: str | None, output: str
) -> None:
    """List every installed plugin.

    Shown are distribution, version, extension points, the profiles that use it, and its state:
    enabled (some profile uses it), available, or broken and why. Without --config, the profile is
    the default one.
    """
    configuration, registry = _configured(config, disabled)
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


@command.command("show")
@click.argument("name")
@click.option("--config", metavar="FILE", help="The configuration whose profiles count as users.")
@output_option("json", "yaml")
@verbosity_option
def show_plugin(name: str, config: str | None, output: str) -> None:
    """Show one plugin: what it is for, its arguments with defaults, and how to enable it."""
    configuration, registry = _configured(config, ())
    sources = [source for source in registry.sources() if source.name == name]
    if not sources:
        near = closest(name, registry.names())
        advice = f"did you mean {near!r}?" if near else "`moorage plugins` lists those there are"
        raise PluginError(f"plugin {name!r} is not installed; {advice}")
    users = _users(configuration, registry)
    for source in sources:
        print_plugin(describe(source, registry, users), output)


def _configured(
    config: str | None, disabled: Sequence[str]
) -> tuple[KubeSchedulerConfiguration, Registry]:
    """Return what would run; what keeps it from running is told, and the plugins shown all the same."""
    configuration = load_configuration(config) if config else default_configuration()
    try:
        return chosen(configuration, disabled)
    except MoorageError as error:
        notice(f"this configuration would not run: {error}")
        return configuration, discover()


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
