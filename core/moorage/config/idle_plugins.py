"""Plugins that are enabled and would never be asked about any pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from moorage.framework.host import Registry
from moorage.framework.plugin import Plugin
from moorage.framework.points import HOOK_ARGUMENTS, hooks_of, points_of

__all__ = ["about_idle_plugins"]


def about_idle_plugins(enabled: Collection[str], registry: Registry) -> Iterator[str]:
    """Say, one sentence each, which enabled plugins implement no extension point.

    Most often their author forgot to mark the hooks. Loads those that are not loaded yet; raises
    PluginError for one that cannot be.
    """
    for name in sorted(enabled):
        if name not in registry:
            continue
        plugin = registry.load(name)
        hooks = hooks_of(plugin)
        if points_of(hooks):
            continue
        sentence = (
            f"plugin {name!r} ({registry.source(name).origin}) is enabled but implements no "
            "extension point, so it is not used"
        )
        unmarked = [hook for hook in HOOK_ARGUMENTS if hook not in hooks and _has(plugin, hook)]
        if unmarked:
            methods = ", ".join(map(repr, unmarked))
            sentence += f"; did you forget @moorage.hookimpl on {methods}?"
        yield sentence


def _has(plugin: type[Plugin], hook: str) -> bool:
    return callable(getattr(plugin, hook, None)) and not hasattr(Plugin, hook)
