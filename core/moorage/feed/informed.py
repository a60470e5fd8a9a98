"""Objects of kinds that only plugins know."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

from moorage.feed.following import Feed
from moorage.framework.informing import Informer
from moorage.model.events import ActionType, ClusterEvent
from moorage.queueing import SchedulingQueue

__all__ = ["InformedFeed"]

_Object: TypeAlias = Mapping[str, Any]


class InformedFeed(Feed[_Object]):
    """Keeps one informer up to date, and wakes the pods whose plugins registered for its kind."""

    def __init__(self, informer: Informer, queue: SchedulingQueue) -> None:
        self._informer = informer
        self._queue = queue

    def identity(self, item: _Object) -> tuple[str, str]:
        """Return namespace and name."""
        metadata = item.get("metadata", {})
        return metadata.get("namespace", ""), metadata.get("name", "")

    def identity_by(self, namespace: str, name: str, uid: str) -> tuple[str, str]:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return namespace, name

    def identities(self) -> Iterable[tuple[str, str]]:
        """Return namespace and name of all objects."""
        return [self.identity(item) for item in self._informer]

    def put(self, item: _Object) -> None:
        """Store an object."""
        before = self._informer.put(item)
        if before is None:
            self._move(ActionType.ADD, None, item)
        elif before != item:
            self._move(ActionType.UPDATE_OTHER, before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget an object."""
        assert isinstance(identity, tuple)  # noqa: S101 - as `identity` makes it
        namespace, name = identity
        known = self._informer.get(name, namespace)
        if known is not None:
            self._informer.drop(known)
            self._move(ActionType.DELETE, known, None)

    def _move(self, action: ActionType, old: _Object | None, new: _Object | None) -> None:
        self._tell(ClusterEvent(self._informer.kind.event_resource, action), old, new)
