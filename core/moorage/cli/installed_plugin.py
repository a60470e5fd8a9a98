"""One installed plugin, as the commands describe it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from packaging.requirements import Requirement
from pydantic.alias_generators import to_camel

from moorage.cli.plugin_arguments import Argument, arguments_of, default_arguments
from moorage.errors import PluginError
from moorage.framework.host import PluginSource, Registry
from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, hooks_of, points_of

__all__ = ["InstalledPlugin", "describe", "installed_plugins"]


@dataclass(frozen=True, kw_only=True)
class InstalledPlugin:
    """One installed plugin. `reason` says why it is broken; `supports` which Moorage it is for.

    `documentation` is its class's docstring, and `summary` the first line of that.
    """

    name: str
    distribution: str
    version: str
    supports: str
    points: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    default_arguments: Mapping[str, Any] = field(default_factory=dict)
    profiles: tuple[str, ...]
    state: Literal["enabled", "available", "broken"]
    reason: str
    documentation: str = ""

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self.documentation.partition("\n")[0]

    def document(self) -> dict[str, Any]:
        """Return what ``-o json`` prints; names are camelCase."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "supports": self.supports,
            "extensionPoints": [to_camel(point) for point in self.points],
            "hooks": list(self.hooks),
            "arguments": [argument.document() for argument in self.arguments],
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
    return [describe(source, registry, profiles) for source in registry.sources()]


def describe(
    source: PluginSource, registry: Registry, profiles: Mapping[str, Iterable[str]]
) -> InstalledPlugin:
    """Describe one plugin; arguments as `installed_plugins`."""
    found: dict[str, Any] = {}
    reason = ""
    try:
        registry.source(source.name)
        plugin = source.load()
        hooks = hooks_of(plugin)
        offered = points_of(hooks)
        found = {
            "points": tuple(point for point in POINTS if point in offered),
            "hooks": tuple(hooks),
            "arguments": tuple(arguments_of(plugin.Args)),
            "default_arguments": default_arguments(plugin.Args),
            "documentation": _documentation(plugin),
        }
    except PluginError as error:
        reason = str(error)
    users = tuple(name for name, plugins in profiles.items() if source.name in plugins)
    return InstalledPlugin(
        name=source.name,
        distribution=source.distribution,
        version=source.version,
        supports=str(Requirement(source.built_for).specifier) if source.built_for else "",
        profiles=users,
        state="broken" if reason else "enabled" if users else "available",
        reason=reason,
        **found,
    )


def _documentation(plugin: type[Plugin]) -> str:
    """Return a plugin's docstring, its own or that of a class of its author's; not the host's."""
    text = inspect.getdoc(plugin) or ""
    return "" if text == inspect.getdoc(Plugin) else text
