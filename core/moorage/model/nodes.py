"""Nodes, as far as a scheduler reads them."""

from __future__ import annotations

import msgspec

from moorage.model.meta import ObjectMeta
from moorage.model.record import Record

__all__ = ["ContainerImage", "Node", "NodeCondition", "NodeSpec", "NodeStatus", "Taint"]


class Taint(Record, frozen=True):
    """A taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Record, frozen=True):
    """NodeSpec of the API."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Record, frozen=True):
    """An image on a node: all its names, and its size in bytes."""

    names: tuple[str, ...] | None = ()
    size_bytes: int = 0


class NodeCondition(Record, frozen=True):
    """A condition of a node, such as Ready."""

    type: str = ""
    status: str = ""


class NodeStatus(Record, frozen=True):
    """NodeStatus of the API; quantities are the API's strings."""

    allocatable: dict[str, str] = msgspec.field(default_factory=dict)
    capacity: dict[str, str] = msgspec.field(default_factory=dict)
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Record, frozen=True):
    """A node of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
