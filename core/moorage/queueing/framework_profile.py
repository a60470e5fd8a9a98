"""A profile of plugins, as its queue sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.framework import slowness
from moorage.framework.hints import EventHint, with_taint_changes
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.requeue import NO_NODES
from moorage.framework.verdict import Verdict
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.pods import Pod
from moorage.queueing.sorting import SortKeys

__all__ = ["FrameworkProfile"]

_NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)


class FrameworkProfile:
    """The `QueueProfile` of a started framework; `keys` are shared by all profiles of the queue."""

    def __init__(self, framework: Framework, keys: SortKeys) -> None:
        self._framework = framework
        self._keys = keys
        # The hook itself: a key made up in its place may not compare with those it gives.
        sort = framework.points["queue_sort"]
        self._sort = sort[0] if sort else None
        self._sort_key = sort[0].call if sort else framework.sort_key

    def sort_key(self, queued: QueuedPod) -> Any:  # noqa: ANN401 - the plugin's key
        """Return the key of the plugin that sorts, or one that sorts behind all others."""
        begun = slowness.begin()
        key = self._keys.key(self._sort_key, queued)
        if self._sort is not None:
            plugin = self._sort.plugin
            slowness.tell_if_slow(self._framework, plugin, "queue_sort", queued.key, begun=begun)
        return key

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Return the first refusal, or Success."""
        return self._framework.pre_enqueue(pod)

    @property
    def hints(self) -> Mapping[str, tuple[EventHint, ...]]:
        """What each plugin registered, and what helps a pod that found no nodes."""
        registered = self._framework.hints
        hints = {plugin: with_taint_changes(registered[plugin]) for plugin in registered}
        return {**hints, NO_NODES: (EventHint(_NODE_ADDED),)}
