"""`moorage plugins show`: one plugin, with all that somebody needs who is about to enable it."""

from __future__ import annotations

import json
from typing import Any

import click
import yaml
from pydantic.alias_generators import to_camel
from rich.console import RenderableType

from moorage.cli.installed_plugin import InstalledPlugin
from moorage.cli.output import print_document, print_renderable, table

__all__ = ["print_plugin"]

_LONGEST = 30


def print_plugin(plugin: InstalledPlugin, output: str) -> None:
    """Print a plugin as ``table``, ``json`` or ``yaml``."""
    if output in {"json", "yaml"}:
        print_document(plugin.document(), output)
        return
    click.echo(plugin.name)
    if plugin.documentation:
        click.echo()
        click.echo("\n".join(f"  {line}".rstrip() for line in plugin.documentation.splitlines()))
    click.echo()
    facts = {
        "package": f"{plugin.distribution} {plugin.version}".strip(),
        "supports": f"moorage {plugin.supports}" if plugin.supports else "any moorage",
        "state": f"{plugin.state}: {plugin.reason}" if plugin.reason else plugin.state,
        "profiles": ", ".join(plugin.profiles) or "none",
        "points": ", ".join(map(to_camel, plugin.points)) or "-",
        "hooks": ", ".join(plugin.hooks) or "-",
    }
    width = max(map(len, facts)) + 2
    for name, text in facts.items():
        click.echo(f"{name:{width}}{text}")
    if plugin.reason:
        return
    click.echo()
    if plugin.arguments:
        _print_arguments(plugin)
    else:
        click.echo("It takes no arguments.")
    click.echo()
    click.echo("To enable it in a profile:")
    click.echo()
    click.echo("".join(f"  {line}\n" for line in _profile(plugin).splitlines()), nl=False)


def _print_arguments(plugin: InstalledPlugin) -> None:
    rows: list[list[RenderableType]] = [
        [
            argument.name,
            argument.type,
            "required" if argument.required else _short(argument.default),
            argument.description or "-",
        ]
        for argument in plugin.arguments
    ]
    print_renderable(table(["ARGUMENT", "TYPE", "DEFAULT", "WHAT IT IS"], rows))


def _short(default: Any) -> str:  # noqa: ANN401 - JSON
    """Show a default on one line; what is long has its parts in lines of their own."""
    text = json.dumps(default, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[0]}...{text[-1]}"


def _profile(plugin: InstalledPlugin) -> str:
    enabled: dict[str, Any] = {"name": plugin.name}
    if "score" in plugin.points:
        enabled["weight"] = 1
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [enabled]}}}
    if plugin.arguments:
        profile["pluginConfig"] = [{"name": plugin.name, "args": plugin.default_arguments}]
    text: str = yaml.safe_dump(profile, sort_keys=False, allow_unicode=True)
    return text
