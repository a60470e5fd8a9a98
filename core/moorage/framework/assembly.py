"""Making a profile: plugins loaded, given their arguments and a handle, registered and checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pluggy
from pydantic import ValidationError

from moorage.errors import PluginError
from moorage.fault_log import worded
from moorage.framework import hookspecs
from moorage.framework.blame import let_through
from moorage.framework.handle import Handle, Services
from moorage.framework.host import PluginSource, Registry
from moorage.framework.plugin import PROJECT, Plugin, PluginArgs
from moorage.framework.points import POINTS, hooks_of, points_of
from moorage.framework.profile import Framework

__all__ = ["ArgumentsError", "new_framework"]


class ArgumentsError(PluginError):
    """Arguments that a plugin refuses; `validation` says which and why."""

    def __init__(self, plugin: str, validation: ValidationError, *, origin: str = "") -> None:
        first = validation.errors()[0]
        where = ".".join(("args", *map(str, first["loc"])))
        of = f" of {origin}" if origin else ""
        super().__init__(f"plugin {plugin!r}{of}: {where}: {first['msg']}")
        self.plugin = plugin
        self.validation = validation


def new_framework(
    registry: Registry,
    plugins: Mapping[str, Sequence[tuple[str, int]]] | Sequence[str],
    args: Mapping[str, Mapping[str, Any] | PluginArgs] | None = None,
    *,
    profile_name: str = "default-scheduler",
    services: Services | None = None,
    percentage_of_nodes_to_score: int = 0,
) -> Framework:
    """Assemble a profile in code, without files or entry points.

    `plugins` is either names, each enabled wherever it can be with weight 1, or, for each
    extension point (``pre_filter``, ``score``, ...), (name, weight) pairs in the order in which
    they run. `args` gives plugins their arguments, raw or validated. Raises PluginError for a
    plugin that cannot be loaded or made, and its subclass ArgumentsError for refused arguments.
    """
    services = services or Services()
    if not isinstance(plugins, Mapping):
        plugins = _everywhere(registry, plugins)
    unknown = plugins.keys() - POINTS.keys()
    if unknown:
        raise PluginError(f"{min(unknown)!r} is no extension point; there are {', '.join(POINTS)}")
    _check_names(plugins)
    names = list(dict.fromkeys(name for point in POINTS for name, _ in plugins.get(point, ())))
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    made = [
        _make(registry.source(name), (args or {}).get(name), services, profile_name)
        for name in names
    ]
    for plugin in made:
        _register(manager, plugin, registry.source(plugin.name))
    framework = Framework(
        made,
        plugins,
        sources={name: registry.source(name) for name in names},
        manager=manager,
        profile_name=profile_name,
        services=services,
        percentage_of_nodes_to_score=percentage_of_nodes_to_score,
    )
    _check_points(framework, plugins)
    return framework


def _everywhere(
    registry: Registry, names: Iterable[str]
) -> Mapping[str, Sequence[tuple[str, int]]]:
    points: dict[str, list[tuple[str, int]]] = {}
    for name in names:
        for point in points_of(hooks_of(registry.load(name))):
            points.setdefault(point, []).append((name, 1))
    return points


def _check_names(points: Mapping[str, Sequence[tuple[str, int]]]) -> None:
    """Refuse a plugin that stands twice at a point, and two that sort the queue."""
    for point, pairs in points.items():
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise PluginError(f"plugin {name!r} is enabled {count} times at {point}")
    sorting = [name for name, _ in points.get("queue_sort", ())]
    if len(sorting) > 1:
        raise PluginError(
            f"plugins {' and '.join(map(repr, sorting))} both sort the queue; enable one of them"
        )


def _make(
    source: PluginSource,
    args: Mapping[str, Any] | PluginArgs | None,
    services: Services,
    profile_name: str,
) -> Plugin:
    plugin = source.load()
    where = f"plugin {source.name!r} of {source.origin}"
    if isinstance(args, PluginArgs):
        if not isinstance(args, plugin.Args):
            raise PluginError(
                f"{where} takes {plugin.Args.__qualname__}, not {type(args).__qualname__}"
            )
    else:
        try:
            args = plugin.Args.model_validate({} if args is None else args)
        except ValidationError as error:
            raise ArgumentsError(source.name, error, origin=source.origin) from error
        except BaseException as error:
            let_through(error)
            # A validator of the plugin's may raise what pydantic does not expect.
            raise PluginError(f"{where} failed on its args: {worded(error)}") from error
    handle = Handle(services, plugin_name=source.name, profile_name=profile_name)
    try:
        made = plugin(args, handle)
    except BaseException as error:
        let_through(error)
        raise PluginError(
            f"{where} cannot be made for profile {profile_name!r}: {worded(error)}"
        ) from error
    if getattr(made, "handle", None) is not handle:
        raise PluginError(f"{where}: its __init__ must call super().__init__(args, handle)")
    return made


def _register(manager: pluggy.PluginManager, plugin: Plugin, source: PluginSource) -> None:
    try:
        manager.register(plugin, source.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        # pluggy changes its state before it validates: take the plugin out again.
        manager.unregister(plugin)
        sentence = " ".join(str(error).split())
        raise PluginError(f"plugin {source.name!r} of {source.origin}: {sentence}") from error


def _check_points(framework: Framework, enabled: Mapping[str, Sequence[tuple[str, int]]]) -> None:
    for point, pairs in enabled.items():
        present = {hook.plugin for hook in framework.points[point]}
        for name, _ in pairs:
            if name not in present:
                raise PluginError(
                    f"plugin {name!r} is enabled at {point} in profile "
                    f"{framework.profile_name!r} but does not implement it"
                )
