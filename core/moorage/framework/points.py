"""The extension points by name, and the hooks behind each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import lru_cache

from moorage.framework import hookspecs
from moorage.framework.plugin import PROJECT, Plugin

__all__ = ["HOOK_ARGUMENTS", "POINTS", "POINT_LABELS", "hooks_of", "may_be_async", "points_of"]

POINTS: Mapping[str, tuple[str, ...]] = {
    "pre_enqueue": ("pre_enqueue",),
    "queue_sort": ("queue_sort",),
    "pre_filter": ("pre_filter",),
    "filter": ("filter_nodes", "filter"),
    "post_filter": ("post_filter",),
    "pre_score": ("pre_score",),
    "score": ("score_nodes", "score"),
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "pre_bind": ("pre_bind",),
    "bind": ("bind",),
    "post_bind": ("post_bind",),
    "placement_generate": ("placement_generate",),
    "placement_score": ("placement_score",),
}
"""Extension point -> the hooks that put a plugin there; of several forms the first one runs.

All other hooks belong to the plugin as a whole and follow it to whichever point it is enabled at.
"""

POINT_LABELS: Mapping[str, str] = {
    "pre_enqueue": "PreEnqueue",
    "sign": "Sign",
    "pre_filter": "PreFilter",
    "add_pods": "PreFilterExtensionAddPod",
    "remove_pods": "PreFilterExtensionRemovePod",
    "filter_nodes": "Filter",
    "filter": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score_nodes": "Score",
    "score": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind_pre_flight": "PreBindPreFlight",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
"""Hook -> what kube-scheduler's metrics and messages call it."""

_ASYNC = frozenset({"start", "close", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind"})


def _arguments() -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(inspect.signature(function).parameters)
        for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
        if hasattr(function, f"{PROJECT}_spec")
    }


HOOK_ARGUMENTS: Mapping[str, tuple[str, ...]] = _arguments()
"""Hook -> the names of the arguments that it offers, in order."""


def may_be_async(hook: str) -> bool:
    """Say whether a hook may be ``async def``."""
    return hook in _ASYNC


def hooks_of(plugin: type[Plugin]) -> Mapping[str, Mapping[str, object]]:
    """Find the methods that a plugin marked with `hookimpl`: name -> options of the mark."""
    # mypy takes a class's __hash__ for that of its instances, so here once.
    return _hooks_of(plugin)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _hooks_of(plugin: type[Plugin]) -> Mapping[str, Mapping[str, object]]:
    found = {}
    for name in dir(plugin):
        options = getattr(getattr(plugin, name, None), f"{PROJECT}_impl", None)
        if options is None:  # of a static method that was marked as such, the wrapper has the mark
            static = inspect.getattr_static(plugin, name, None)
            options = getattr(static, f"{PROJECT}_impl", None)
        if isinstance(options, Mapping):
            found[str(options.get("specname") or name)] = options
    return found


def points_of(hooks: Iterable[str]) -> frozenset[str]:
    """Say at which extension points a plugin with these hooks can be enabled."""
    present = set(hooks)
    return frozenset(point for point, forms in POINTS.items() if present.intersection(forms))
