"""Nodes: into the cache, and to the pods that they may help."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable

import msgspec

from moorage.cache.cluster import ClusterCache
from moorage.feed.following import Feed
from moorage.model.changes import node_changes
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.nodes import Node
from moorage.model.quantities import InvalidQuantityError
from moorage.queueing import SchedulingQueue

__all__ = ["NodeFeed"]

_logger = logging.getLogger(__name__)

_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
_DELETED = ClusterEvent(EventResource.NODE, ActionType.DELETE)


class NodeFeed(Feed[Node]):
    """Keeps the cache's nodes up to date.

    A node with a quantity that cannot be read keeps its last good version, or is left out.
    """

    def __init__(self, cluster: ClusterCache, queue: SchedulingQueue) -> None:
        self._cluster = cluster
        self._queue = queue
        self._nodes: dict[str, Node] = {}

    def identity(self, item: Node) -> str:
        """Return the node's name: a node made anew takes over its pods."""
        return item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> str:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return name

    def identities(self) -> Iterable[str]:
        """Return the names of all nodes."""
        return self._nodes

    @property
    def count(self) -> int:
        """How many nodes there are; may be read in another thread."""
        return len(self._nodes)

    def newest(self, identity: Hashable) -> Node | None:
        """Return the newest version of a node by name."""
        return self._nodes.get(str(identity))

    def known(self, name: str) -> Node | None:
        """Return the newest version of a node that was taken in."""
        return self._nodes.get(name)

    def put(self, item: Node) -> None:
        """Take in a node; a mere heartbeat reaches neither cache nor queue."""
        name = item.metadata.name
        before = self._nodes.get(name)
        if before is not None and _same(before, item):
            self._nodes[name] = item
            return
        try:
            self._cluster.set_node(item)
        except InvalidQuantityError as error:
            _logger.error("Left out node %s: its status.allocatable has %s", name, error)  # noqa: TRY400 - the sentence says it all
            return
        self._nodes[name] = item
        if before is None:
            _logger.debug("Add event for node %s", name)
            self._tell(_ADDED, None, item)
            return
        changes = node_changes(before, item)
        if changes:
            self._tell(ClusterEvent(EventResource.NODE, changes), before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a node; its pods stay in the cache until they go."""
        node = self._nodes.pop(str(identity), None)
        if node is None:
            return
        _logger.debug("Delete event for node %s", identity)
        self._cluster.remove_node(node.metadata.name)
        self._tell(_DELETED, node, None)


def _same(old: Node, new: Node) -> bool:
    """Say whether two versions differ in nothing that anybody reads."""
    return (
        old.spec == new.spec
        and old.status == new.status
        and msgspec.structs.replace(old.metadata, resource_version="")
        == msgspec.structs.replace(new.metadata, resource_version="")
    )
