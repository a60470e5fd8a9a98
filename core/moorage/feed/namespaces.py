"""Namespaces: their labels are what namespace selectors look at."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from moorage.cache.cluster import ClusterCache
from moorage.feed.following import Feed
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.meta import Namespace
from moorage.queueing import SchedulingQueue

__all__ = ["NamespaceFeed"]

_ADDED = ClusterEvent(EventResource.NAMESPACE, ActionType.ADD)
_UPDATED = ClusterEvent(EventResource.NAMESPACE, ActionType.UPDATE_OTHER)
_DELETED = ClusterEvent(EventResource.NAMESPACE, ActionType.DELETE)


class NamespaceFeed(Feed[Namespace]):
    """Keeps the cache's namespaces up to date; only labels wake anybody."""

    def __init__(self, cluster: ClusterCache, queue: SchedulingQueue) -> None:
        self._cluster = cluster
        self._queue = queue

    def identity(self, item: Namespace) -> str:
        """Return the namespace's name."""
        return item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> str:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return name

    def identities(self) -> Iterable[str]:
        """Return the names of all namespaces."""
        return tuple(self._cluster.namespaces)

    def put(self, item: Namespace) -> None:
        """Take in a namespace."""
        before = self._cluster.namespaces.get(item.metadata.name)
        self._cluster.set_namespace(item)
        if before is None:
            self._tell(_ADDED, None, item)
        elif before.metadata.labels != item.metadata.labels:
            self._tell(_UPDATED, before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a namespace."""
        before = self._cluster.namespaces.get(str(identity))
        if before is not None:
            self._cluster.remove_namespace(before.metadata.name)
            self._tell(_DELETED, before, None)
