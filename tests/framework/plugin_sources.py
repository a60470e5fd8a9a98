"""Plugins as installed distributions offer them, without installing anything."""

from __future__ import annotations

import importlib_metadata

from moorage import Plugin, Registry, Services
from moorage.framework.assembly import new_framework
from moorage.framework.host import PluginSource
from moorage.framework.profile import Framework

__all__ = ["assembled", "installed", "of_code"]


def of_code(name: str, plugin: type[Plugin], *, built_for: str = "") -> PluginSource:
    """Offer a class as the distribution ``acme-plugins 2.1`` would."""
    return PluginSource(
        name=name,
        distribution="acme-plugins",
        version="2.1",
        built_for=built_for,
        plugin=plugin,
    )


def installed(name: str, value: str, *, built_for: str = "") -> PluginSource:
    """Offer an entry point as the distribution ``acme-plugins 2.1`` would."""
    return PluginSource(
        name=name,
        distribution="acme-plugins",
        version="2.1",
        built_for=built_for,
        entry_point=importlib_metadata.EntryPoint(name=name, value=value, group="moorage.plugins"),
    )


def assembled(*plugins: type[Plugin], services: Services | None = None) -> Framework:
    """Assemble a profile of plugins under their class names, in this order."""
    registry = Registry([of_code(plugin.__name__, plugin) for plugin in plugins])
    return new_framework(
        registry, [plugin.__name__ for plugin in plugins], services=services, profile_name="test"
    )
