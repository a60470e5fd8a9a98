"""Nodes and pods for tests, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from moorage.framework.queued_pod import QueuedPod
from moorage.model import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodInfo,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Taint,
    Toleration,
)

__all__ = [
    "affinity",
    "make_node",
    "make_pod",
    "port",
    "preferring",
    "queued",
    "requirement",
    "taint",
    "term",
    "toleration",
]

_uids = count(1)
_ROOM = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}


def make_node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
    allocatable: Mapping[str, str] | None = None,
) -> Node:
    """Make a node with room for 4 cpus, 8 GiB and 110 pods, where `allocatable` does not differ."""
    return Node(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})),
        spec=NodeSpec(unschedulable=unschedulable, taints=tuple(taints)),
        status=NodeStatus(
            allocatable={**_ROOM, **(allocatable or {})},
            images=tuple(
                ContainerImage(names=(image,), size_bytes=size)
                for image, size in (images or {}).items()
            ),
            declared_features=tuple(features),
        ),
    )


def make_pod(
    name: str,
    *,
    node: str = "",
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    ports: Sequence[ContainerPort] = (),
    containers: Sequence[Container] | None = None,
    status: PodStatus | None = None,
    requests: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - any field of a PodSpec
) -> PodInfo:
    """Make a pod with a uid of its own and one container, which requests `requests`."""
    own = Container(
        name="main",
        image="app",
        resources=ResourceRequirements(requests=dict(requests or {})),
        ports=tuple(ports),
    )
    return PodInfo(
        Pod(
            metadata=ObjectMeta(
                name=name, namespace="ns", uid=f"{name}-{next(_uids)}", labels=dict(labels or {})
            ),
            spec=PodSpec(
                node_name=node,
                priority=priority,
                containers=(own,) if containers is None else tuple(containers),
                **spec,
            ),
            status=status or PodStatus(),
        )
    )


def queued(info: PodInfo) -> QueuedPod:
    """Put a pod into the form in which the queue hands it out."""
    return QueuedPod(info, timestamp=0.0)


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Taint:
    """Make a taint."""
    return Taint(key=key, value=value, effect=effect)


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> Toleration:
    """Make a toleration."""
    return Toleration(key=key, operator=operator, value=value, effect=effect)


def port(host_port: int, host_ip: str = "", protocol: str = "TCP") -> ContainerPort:
    """Make a port of the host."""
    return ContainerPort(
        container_port=host_port, host_port=host_port, host_ip=host_ip, protocol=protocol
    )


def requirement(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    """Make one condition on a label or a field."""
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(
    *labels: NodeSelectorRequirement, fields: Iterable[NodeSelectorRequirement] = ()
) -> NodeSelectorTerm:
    """Make a term of conditions that must all hold."""
    return NodeSelectorTerm(match_expressions=labels, match_fields=tuple(fields))


def affinity(
    *required: NodeSelectorTerm, preferred: Sequence[PreferredSchedulingTerm] = ()
) -> Affinity:
    """Make node affinity; without required terms, none is required."""
    return Affinity(
        node_affinity=NodeAffinity(
            required_during_scheduling_ignored_during_execution=(
                NodeSelector(node_selector_terms=required) if required else None
            ),
            preferred_during_scheduling_ignored_during_execution=tuple(preferred),
        )
    )


def preferring(weight: int, preference: NodeSelectorTerm) -> PreferredSchedulingTerm:
    """Make a preference."""
    return PreferredSchedulingTerm(weight=weight, preference=preference)
