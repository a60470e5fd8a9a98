"""A configuration without some plugins, as `moorage verify` needs it for those not installed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from moorage.config.schema import (
    EXTENSION_POINTS,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginsConfig,
)

__all__ = ["leave_out", "named_plugins"]


def named_plugins(configuration: KubeSchedulerConfiguration) -> frozenset[str]:
    """Return the names of all plugins that a configuration enables or gives arguments."""
    return frozenset[str]().union(
        *(profile.plugins.enabled_names() for profile in configuration.profiles),
        *(profile.raw_args.keys() for profile in configuration.profiles),
    )


def leave_out(
    configuration: KubeSchedulerConfiguration, names: Collection[str]
) -> KubeSchedulerConfiguration:
    """Return the configuration with these plugins enabled nowhere and without their arguments."""
    profiles = tuple(_without(profile, names) for profile in configuration.profiles)
    return configuration.model_copy(update={"profiles": profiles})


def _without(profile: KubeSchedulerProfile, names: Collection[str]) -> KubeSchedulerProfile:
    sets: dict[str, Any] = {}
    for point in ("multi_point", *EXTENSION_POINTS):
        plugin_set = profile.plugins.at(point)
        enabled = tuple(plugin for plugin in plugin_set.enabled if plugin.name not in names)
        sets[point] = plugin_set.model_copy(update={"enabled": enabled})
    plugin_config = tuple(entry for entry in profile.plugin_config if entry.name not in names)
    return profile.model_copy(
        update={
            "plugins": PluginsConfig.model_construct(**sets),
            "plugin_config": plugin_config,
        }
    )
