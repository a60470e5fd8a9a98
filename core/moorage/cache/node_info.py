"""One node of a view, for hooks that take nodes one at a time."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.cache.view import NodesView
from moorage.model.nodes import Node
from moorage.model.pods import Pod

__all__ = ["NodeInfo"]


class NodeInfo:
    """One row of a view, for hooks that take one node at a time; valid until the hook returns."""

    __slots__ = ("_nodes", "position")

    def __init__(self, nodes: NodesView, position: int) -> None:
        self._nodes = nodes
        self.position = position

    @property
    def name(self) -> str:
        """The node's name."""
        return self._nodes.name(self.position)

    @property
    def node(self) -> Node:
        """The node itself."""
        return self._nodes.node(self.position)

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on the node, assumed and hypothetical ones included."""
        return self._nodes.pods(self.position)

    def allocatable(self, resource: str) -> int:
        """Return what the node has of a resource, in milli-CPU, bytes, pods or devices."""
        return int(self._nodes.allocatable(resource)[self.position])

    def requested(self, resource: str) -> int:
        """Return what the pods on the node request of a resource; unit as `allocatable`."""
        return int(self._nodes.requested(resource)[self.position])
