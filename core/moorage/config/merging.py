"""Which plugins run where, in which order and with which weight: kube-scheduler's rules.

Two steps. `merge_plugins` lays a profile's plugin sets over the default ones. `extension_points`
then spreads ``multiPoint`` over the extension points that each plugin implements.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic.alias_generators import to_camel

from moorage.config.schema import (
    EXTENSION_POINTS,
    KubeSchedulerProfile,
    PluginRef,
    PluginsConfig,
    PluginSet,
)
from moorage.config.sentences import Problem, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "EnabledPlugin",
    "extension_points",
    "merge_plugin_set",
    "merge_plugins",
    "require_one_queue_sort",
]

_WEIGHTED: Final = frozenset({"score", "placement_score"})


class EnabledPlugin(NamedTuple):
    """A plugin at an extension point; `weight` is 0 where nothing is scored, else at least 1."""

    name: str
    weight: int


def merge_plugins(custom: PluginsConfig, default: PluginsConfig) -> PluginsConfig:
    """Lay a profile's own plugin sets over the default ones, point by point."""
    return PluginsConfig(
        **{
            point: merge_plugin_set(custom.at(point), default.at(point))
            for point in PluginsConfig.model_fields
        }
    )


def merge_plugin_set(custom: PluginSet, default: PluginSet) -> PluginSet:
    """Lay a profile's own plugin set over the default one.

    A default plugin that the profile disables is gone, with ``*`` all are. One that it enables
    again takes the profile's weight and keeps its place. What else it enables follows, in its
    order. A name that stands twice stays twice: `extension_points` refuses it.
    """
    disabled = (*custom.disabled, *default.disabled)
    disabled_names = {plugin.name for plugin in disabled}
    last_index = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    kept = [plugin for plugin in default.enabled if not disabled_names & {plugin.name, "*"}]
    in_place = {last_index[plugin.name] for plugin in kept if plugin.name in last_index}
    return PluginSet(
        enabled=(
            *(custom.enabled[last_index[p.name]] if p.name in last_index else p for p in kept),
            *(p for index, p in enumerate(custom.enabled) if index not in in_place),
        ),
        disabled=tuple(PluginRef(name=plugin.name) for plugin in disabled),
    )


def extension_points(
    plugins: PluginsConfig,
    implements: Callable[[str], frozenset[str]],
    *,
    file: str = "",
    field: str = "plugins",
) -> dict[str, tuple[EnabledPlugin, ...]]:
    """For each of `EXTENSION_POINTS` the plugins to run there, in the order in which they run.

    `plugins` is a profile's plugin sets, merged with the default ones; `implements(name)` tells
    the extension points that a plugin implements (none, for one that is not installed: it is then
    left out of what multiPoint enables). `file` and `field` say where the sets stand, for errors.

    Raises ConfigurationError if a plugin stands twice at an extension point, is enabled at one
    that it does not implement, or if there is not exactly one plugin to sort the queue and at
    least one to bind.
    """
    expanded = {
        point: tuple(
            EnabledPlugin(plugin.name, (plugin.weight or 1) if point in _WEIGHTED else 0)
            for plugin in _in_order(plugins, point, implements, file=file, field=field)
        )
        for point in EXTENSION_POINTS
    }
    _require_essentials(expanded, file=file, field=field)
    return expanded


def _in_order(
    plugins: PluginsConfig,
    point: str,
    implements: Callable[[str], frozenset[str]],
    *,
    file: str,
    field: str,
) -> list[PluginRef]:
    """Put the plugins of one extension point in order.

    First come those that multiPoint enables too, in the point's own order and with its weight; then
    what comes from multiPoint alone; then what only the point itself enables.
    """
    here = plugins.at(point).enabled
    place = f"{field}.{to_camel(point)}.enabled"
    _require_implemented(here, point, implements, file=file, place=place)
    _require_once(here, file=file, place=place)
    disabled = {plugin.name for plugin in plugins.at(point).disabled}
    if "*" in disabled:
        return list(here)
    spread = [
        plugin
        for plugin in plugins.multi_point.enabled
        if plugin.name not in disabled and point in implements(plugin.name)
    ]
    names_here = {plugin.name for plugin in here}
    names_spread = {plugin.name for plugin in spread}
    only_spread = [plugin for plugin in spread if plugin.name not in names_here]
    _require_once(only_spread, file=file, place=f"{field}.multiPoint.enabled")
    return [
        *(plugin for plugin in here if plugin.name in names_spread),
        *only_spread,
        *(plugin for plugin in here if plugin.name not in names_spread),
    ]


def require_one_queue_sort(
    profiles: Sequence[tuple[KubeSchedulerProfile, Mapping[str, Sequence[EnabledPlugin]]]],
) -> None:
    """Raise ConfigurationError unless all profiles sort the queue by the same plugin and arguments.

    Takes each profile with its extension points. There is one queue for all profiles, so two
    orders in it would contradict each other.
    """
    if not profiles:
        return
    (first, first_points), *others = profiles
    for profile, points in others:
        name, first_name = points["queue_sort"][0].name, first_points["queue_sort"][0].name
        if name != first_name:
            sentence = (
                f"sorts the queue by {name} where {first.field} sorts it by {first_name}; there is"
                " one queue, so all profiles must enable the same plugin"
            )
            raise refusal([Problem(f"{profile.field}.plugins", sentence)], file=profile.file)
        args, first_args = profile.raw_args.get(name), first.raw_args.get(name)
        if (args.data if args else {}) != (first_args.data if first_args else {}):
            sentence = f"must give {name}, which sorts the queue, the same args as {first.field}"
            raise refusal([Problem(f"{profile.field}.pluginConfig", sentence)], file=profile.file)


def _require_implemented(
    here: Sequence[PluginRef],
    point: str,
    implements: Callable[[str], frozenset[str]],
    *,
    file: str,
    place: str,
) -> None:
    for index, plugin in enumerate(here):
        offered = implements(plugin.name)
        if point not in offered:
            spelled = ", ".join(to_camel(each) for each in EXTENSION_POINTS if each in offered)
            has = f"it has {spelled}" if offered else "it is not installed"
            sentence = f"{plugin.name} does not implement {to_camel(point)}; {has}"
            raise refusal([Problem(f"{place}[{index}].name", sentence)], file=file)


def _require_once(enabled: Iterable[PluginRef], *, file: str, place: str) -> None:
    counts = Counter(plugin.name for plugin in enabled)
    for name, times in counts.items():
        if times > 1:
            sentence = f"{name} stands here {times} times; keep one of them"
            raise refusal([Problem(place, sentence)], file=file)


def _require_essentials(
    expanded: Mapping[str, Sequence[EnabledPlugin]], *, file: str, field: str
) -> None:
    sorting = [plugin.name for plugin in expanded["queue_sort"]]
    if not expanded["bind"]:
        sentence = "no plugin is left to bind pods; enable one, such as DefaultBinder"
        raise refusal([Problem(f"{field}.bind", sentence)], file=file)
    if not sorting:
        sentence = "no plugin is left to sort the queue; enable one, such as PrioritySort"
        raise refusal([Problem(f"{field}.queueSort", sentence)], file=file)
    if len(sorting) > 1:
        sentence = f"one plugin sorts the queue, but {' and '.join(sorting)} are enabled"
        raise refusal([Problem(f"{field}.queueSort", sentence)], file=file)
