"""A profile's sort keys, made safe: a bad key costs its pod the place in line, not the queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.framework.blame import let_through
from moorage.framework.queued_pod import QueuedPod

__all__ = ["LAST", "SortKeys"]


class _Last:
    """Comes after everything."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return other is not self

    def __repr__(self) -> str:
        return "LAST"


LAST = _Last()
"""The key of a pod whose plugin gave none that can be used."""


class SortKeys:
    """Calls a QueueSort plugin; a key that is raised about, or does not compare, becomes `LAST`.

    Keys are tried against the newest good one of all profiles that share this: a heap that meets a
    key it cannot compare is left half changed. `on_error` hears of each fault.
    """

    def __init__(self, on_error: Callable[[QueuedPod, BaseException], None]) -> None:
        self._on_error = on_error
        self._good: Any = LAST

    def key(self, sort_key: Callable[[QueuedPod], Any], queued: QueuedPod) -> Any:  # noqa: ANN401 - the plugin's key
        """Return the key of a pod, or `LAST`."""
        try:
            key = sort_key(queued)
            sample = key if self._good is LAST else self._good
            bool(key < sample)
            bool(sample < key)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin does, the pod is queued
            let_through(error)
            self._on_error(queued, error)
            return LAST
        self._good = key
        return key
