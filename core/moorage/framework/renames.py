"""Hooks that have been renamed: plugins of before go on working for two minor versions.

A rename is one row in `RENAMED_HOOKS`, to be taken out two minor versions later; then the old name
is a hook that does not exist. Adding an argument to a hook needs nothing: implementations name
only those that they use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from moorage.framework.plugin import PROJECT, Plugin

__all__ = ["RENAMED_HOOKS", "Renamed", "accept_old_names"]

RENAMED_HOOKS: Mapping[str, tuple[str, str]] = {}
"""Old name -> (new name, the version of Moorage that no longer takes the old one)."""

Renamed = tuple[str, str, str]
"""A hook found under its old name: old, new, and the version that no longer takes the old."""


def accept_old_names(
    plugin: type[Plugin], renamed: Mapping[str, tuple[str, str]] = RENAMED_HOOKS
) -> list[Renamed]:
    """Give hooks that a plugin implements under old names their new ones; say which they were.

    The method stays callable under its old name. A class that has both names keeps the new one,
    and the old is an ordinary method.
    """
    found = []
    for old, (new, until) in renamed.items():
        method = getattr(plugin, old, None)
        options = getattr(method, f"{PROJECT}_impl", None)
        if method is None or not isinstance(options, Mapping):
            continue
        if not hasattr(plugin, new):
            setattr(plugin, new, method)
        setattr(plugin, old, _unmarked(method))
        found.append((old, new, until))
    return found


def _unmarked(method: Any) -> Any:  # noqa: ANN401 - whatever a plugin wrote
    @functools.wraps(method, updated=())
    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
        return method(*arguments, **named)

    return call
