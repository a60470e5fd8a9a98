"""What kube-scheduler accepts without a word and a user should hear about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic.alias_generators import to_camel

from moorage.config.schema import PluginsConfig
from moorage.config.sentences import closest, field_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from moorage.config.schema import KubeSchedulerConfiguration, KubeSchedulerProfile

__all__ = ["notices"]


def notices(configuration: KubeSchedulerConfiguration, known_plugins: Collection[str]) -> list[str]:
    """List, one sentence each, what has no effect or hardly the one meant.

    That is: disabling or configuring a plugin that is not among `known_plugins` (installed ones
    and the defaults), configuring one that the profile does not enable, and weights below zero,
    which make the scheduler prefer what the plugin likes least.
    """
    known = sorted(known_plugins)
    return [
        f"{configuration.file}: {notice}" if configuration.file else notice
        for profile in configuration.profiles
        for notice in (*_about_sets(profile, known), *_about_arguments(profile, known))
    ]


def _about_sets(profile: KubeSchedulerProfile, known: list[str]) -> Iterator[str]:
    for point in PluginsConfig.model_fields:
        field = field_path(["plugins", to_camel(point)], under=profile.field)
        for plugin in profile.plugins.at(point).disabled:
            if plugin.name != "*" and plugin.name not in known:
                yield (
                    f"{field}.disabled: {_unknown(plugin.name, known)}, so there is nothing to"
                    " disable"
                )
        for plugin in profile.plugins.at(point).enabled:
            if plugin.weight < 0:
                yield (
                    f"{field}.enabled: {plugin.name} has weight {plugin.weight}; below 0, nodes"
                    " that it prefers are avoided"
                )


def _about_arguments(profile: KubeSchedulerProfile, known: list[str]) -> Iterator[str]:
    enabled = profile.plugins.enabled_names()
    for name, args in profile.raw_args.items():
        field = args.field.removesuffix(".args")
        if name not in known:
            yield f"{field}: {_unknown(name, known)}, so these args have no effect"
        elif name not in enabled:
            yield f"{field}: {name} is not enabled in this profile, so these args have no effect"


def _unknown(name: str, known: list[str]) -> str:
    meant = closest(name, known)
    return f"there is no plugin {name}" + (f" (did you mean {meant}?)" if meant else "")
