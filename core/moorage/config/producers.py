"""Configuration and installed plugins to assembled profiles, ready to run.

A default plugin that is not installed is left out, and said so; whatever a configuration names by
itself must be there and work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from moorage.config.defaults import DEFAULT_PLUGINS
from moorage.config.idle_plugins import about_idle_plugins
from moorage.config.merging import EnabledPlugin, extension_points, require_one_queue_sort
from moorage.config.notices import notices
from moorage.config.schema import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginsConfig,
)
from moorage.config.sentences import Problem, field_path, refusal, validation_sentence
from moorage.errors import ConfigurationError, PluginError
from moorage.framework.assembly import ArgumentsError, new_framework
from moorage.framework.handle import Services
from moorage.framework.host import Registry
from moorage.framework.plugin import PluginArgs
from moorage.framework.points import hooks_of, points_of
from moorage.framework.profile import Framework

__all__ = ["Assembly", "assemble", "plugin_arguments"]

Points = Mapping[str, Sequence[EnabledPlugin]]

_EXTENDERS = Problem(
    "extenders",
    "HTTP extenders are not called by this version; remove them or write the plugin in Python",
)
"""Refused here and not on reading: what is wrong with an extender's fields is worth telling first."""


class Assembly(NamedTuple):
    """What a configuration came to: a framework for each scheduler name, and what to tell the user.

    `absent` are the default plugins that are not installed, in the default order; the first of
    `notices` names them.
    """

    frameworks: dict[str, Framework]
    notices: tuple[str, ...]
    absent: tuple[str, ...]


def assemble(
    configuration: KubeSchedulerConfiguration, registry: Registry, *, services: Services
) -> Assembly:
    """Make the framework of each profile; all of them share `services`.

    Raises ConfigurationError, naming file, field and plugin, for a configured plugin that is not
    installed, broken or enabled where it cannot be, for arguments that a plugin refuses, and for
    extenders, which nobody would call. Raises PluginError where a default plugin is installed and broken.
    """
    if configuration.extenders:
        raise refusal([_EXTENDERS], file=configuration.file)
    resolved = [(profile, _points(profile, registry)) for profile in configuration.profiles]
    require_one_queue_sort(resolved)
    frameworks = {
        profile.scheduler_name: _framework(
            profile,
            points,
            registry,
            services=services,
            percentage=configuration.percentage_of_nodes_to_score,
        )
        for profile, points in resolved
    }
    enabled = frozenset[str]().union(*(p.plugins.enabled_names() for p in configuration.profiles))
    defaults = [name for name, _ in DEFAULT_PLUGINS]
    absent = tuple(name for name in defaults if name in enabled and name not in registry)
    known = {*registry.names(), *defaults}
    said = (
        *_about_absent(absent),
        *notices(configuration, sorted(known)),
        *about_idle_plugins(enabled, registry),
    )
    return Assembly(frameworks, said, absent)


def plugin_arguments(
    frameworks: Mapping[str, Framework],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by scheduler name and plugin, the arguments in force, spelt as in a document.

    Plugins that take none are left out. `moorage.config.to_document` takes the result.
    """
    return {
        name: {
            plugin.name: plugin.args.model_dump(mode="json", by_alias=True)
            for plugin in framework.plugins
            if plugin.Args is not PluginArgs
        }
        for name, framework in frameworks.items()
    }


def _points(profile: KubeSchedulerProfile, registry: Registry) -> Points:
    """Resolve which plugin runs where; loads every plugin that the profile enables."""

    def implements(name: str) -> frozenset[str]:
        if name not in registry and name not in profile.configured_plugins:
            return frozenset()  # a default plugin that is left out
        try:
            return points_of(hooks_of(registry.load(name)))
        except PluginError as error:
            if name not in profile.configured_plugins:
                raise
            problem = Problem(_place(profile, name), str(error))
            raise refusal([problem], file=profile.file) from error

    return extension_points(
        profile.plugins, implements, file=profile.file, field=f"{profile.field}.plugins"
    )


def _place(profile: KubeSchedulerProfile, plugin: str) -> str:
    """Return the field in which a profile enables a plugin: by point first, multiPoint last."""
    fields = {
        point: field_path(["plugins", str(info.alias), "enabled"], under=profile.field)
        for point, info in PluginsConfig.model_fields.items()
    }
    everywhere = fields.pop("multi_point")
    for point, field in fields.items():
        if any(enabled.name == plugin for enabled in profile.plugins.at(point).enabled):
            return field
    return everywhere


def _framework(
    profile: KubeSchedulerProfile,
    points: Points,
    registry: Registry,
    *,
    services: Services,
    percentage: int,
) -> Framework:
    own = profile.percentage_of_nodes_to_score
    raw = profile.raw_args
    try:
        return new_framework(
            registry,
            points,
            {name: args.data for name, args in raw.items()},
            profile_name=profile.scheduler_name,
            services=services,
            percentage_of_nodes_to_score=percentage if own is None else own,
        )
    except ArgumentsError as error:
        # Where nothing is written, the plugin misses an argument that it cannot do without.
        unwritten = f"{profile.field}.pluginConfig[name={error.plugin}].args"
        sentence = validation_sentence(
            error.validation,
            file=profile.file,
            field=raw[error.plugin].field if error.plugin in raw else unwritten,
            model=registry.load(error.plugin).Args,
        )
        raise ConfigurationError(sentence) from None


def _about_absent(absent: Sequence[str]) -> Sequence[str]:
    if not absent:
        return ()
    names = ", ".join(absent)
    return (f"these default plugins are not installed, and pods are placed without them: {names}",)
