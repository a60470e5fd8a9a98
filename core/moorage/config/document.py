"""A configuration back to the document that says all of it, as ``/configz`` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moorage.config.defaults import DEFAULT_PLUGINS
from moorage.config.schema import API_VERSION

if TYPE_CHECKING:
    from moorage.config.schema import KubeSchedulerConfiguration, KubeSchedulerProfile

__all__ = ["to_document"]

PluginArgs = Mapping[str, Mapping[str, Mapping[str, Any]]]


def to_document(
    configuration: KubeSchedulerConfiguration, *, plugin_args: PluginArgs | None = None
) -> dict[str, Any]:
    """Write the whole configuration, as ``--write-config-to`` does.

    Holds JSON's types only, in new containers that the caller may change. `plugin_args` gives, by
    scheduler name and plugin, arguments in the document's spelling with the plugin's own defaults
    filled in; they stand in place of those that the configuration holds.
    """
    document = configuration.model_dump(mode="json", by_alias=True)
    if not document["delayCacheUntilActive"]:
        del document["delayCacheUntilActive"]
    document["profiles"] = [
        _profile(written, profile, (plugin_args or {}).get(profile.scheduler_name, {}))
        for written, profile in zip(document["profiles"], configuration.profiles, strict=True)
    ]
    extenders = document.pop("extenders")
    if extenders:
        document["extenders"] = [_without_empty(extender) for extender in extenders]
    return document


def _profile(
    written: dict[str, Any],
    profile: KubeSchedulerProfile,
    filled: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """One profile: empty sets stay as empty mappings; only enabled plugins have arguments."""
    if written["percentageOfNodesToScore"] is None:
        del written["percentageOfNodesToScore"]
    written["plugins"] = {
        point: {key: plugins for key, plugins in plugin_set.items() if plugins}
        for point, plugin_set in written["plugins"].items()
    }
    args = {entry["name"]: entry["args"] for entry in written["pluginConfig"]} | dict(filled)
    enabled = profile.plugins.enabled_names()
    written["pluginConfig"] = [
        {"name": name, "args": _typed(name, args[name])} for name in sorted(args) if name in enabled
    ]
    return written


def _typed(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the type that Kubernetes knows them by, where it knows the plugin."""
    if name not in dict(DEFAULT_PLUGINS):
        return dict(args)
    return {"apiVersion": API_VERSION, "kind": f"{name}Args", **args}


def _without_empty(extender: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in extender.items() if value or key == "urlPrefix"}
