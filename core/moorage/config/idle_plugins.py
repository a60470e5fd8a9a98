"""Plugins that are enabled and would never be asked about any pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from moorage.framework.host import Registry
from moorage.framework.points import hooks_of, points_of

__all__ = ["about_idle_plugins"]


def about_idle_plugins(enabled: Collection[str], registry: Registry) -> Iterator[str]:
    """Say, one sentence each, which enabled plugins implement no extension point.

    Loads those that are not loaded yet; raises PluginError for one that cannot be, as one cannot
    whose author forgot to mark a hook.
    """
    for name in sorted(enabled):
        if name in registry and not points_of(hooks_of(registry.load(name))):
            yield (
                f"plugin {name!r} ({registry.source(name).origin}) is enabled but implements no "
                "extension point, so it is not used"
            )
