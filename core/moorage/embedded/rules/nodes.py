"""The JSON types and the rules of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.rules.amounts import check_amounts
from moorage.embedded.rules.names import (
    check_label_value,
    check_qualified,
    check_supported,
    required,
)
from moorage.embedded.rules.pod_types import (
    ConditionTypes,
    Quantity,
    Types,
    check_quantity_types,
    check_types,
)
from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_node", "check_node_types"]


class TaintTypes(Types):
    """A taint."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpecTypes(Types):
    """A node's spec."""

    unschedulable: bool | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    taints: list[TaintTypes] | None = None


class ImageTypes(Types):
    """An image that a node has."""

    names: list[str] | None = None
    size_bytes: int | None = None


class NodeStatusTypes(Types):
    """A node's status."""

    capacity: dict[str, Quantity] | None = None
    allocatable: dict[str, Quantity] | None = None
    conditions: list[ConditionTypes] | None = None
    images: list[ImageTypes] | None = None


class NodeTypes(Types):
    """A node; its metadata is checked apart."""

    spec: NodeSpecTypes | None = None
    status: NodeStatusTypes | None = None


def check_node_types(node: dict[str, Any]) -> None:
    """Raise a 400 that names the field if one has the wrong JSON type or is no quantity."""
    for name in ("spec", "status"):
        if node.get(name) is None:
            node.pop(name, None)
    check_types("Node", node, NodeTypes)
    check_quantity_types("Node", _quantities(node.get("status") or {}))


def _quantities(status: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for name in ("capacity", "allocatable"):
        for resource, quantity in (status.get(name) or {}).items():
            yield f"status.{name}[{resource}]", quantity


def check_node(node: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with a node whose types are right."""
    status = node.get("status") or {}
    causes = check_amounts("status.capacity", status.get("capacity") or {})
    causes += check_amounts("status.allocatable", status.get("allocatable") or {})
    seen = set()
    for index, taint in enumerate(node["spec"].get("taints") or ()):
        field = f"spec.taints[{index}]"
        causes += _check_taint(field, taint)
        identity = (taint.get("key"), taint.get("effect"))
        if identity in seen:
            message = f'Duplicate value: "{taint.get("key")}:{taint.get("effect")}"'
            causes.append(Cause("FieldValueDuplicate", message, field))
        seen.add(identity)
    return causes


def _check_taint(field: str, taint: dict[str, Any]) -> list[Cause]:
    causes = check_qualified(f"{field}.key", taint.get("key") or "")
    causes += check_label_value(f"{field}.value", taint.get("value") or "")
    if not taint.get("effect"):
        return [*causes, required(f"{field}.effect")]
    return causes + check_supported(
        f"{field}.effect", taint["effect"], ("NoSchedule", "PreferNoSchedule", "NoExecute")
    )
