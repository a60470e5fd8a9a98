"""API objects in one short call each, with the defaults that an API server would fill in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from moorage.model import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    LabelSelector,
    Namespace,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Service,
    Taint,
    Toleration,
)
from moorage.model.workloads import MapSelectorSpec

__all__ = [
    "make_affinity",
    "make_namespace",
    "make_node",
    "make_pod",
    "make_service",
    "make_taint",
    "make_toleration",
]

_uids = count(1)
_CREATED = datetime(2026, 1, 1, tzinfo=UTC)
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: str | None = None,
    memory: str | None = None,
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    node: str = "",
    node_selector: Mapping[str, str] | None = None,
    affinity: Affinity | None = None,
    tolerations: Sequence[Toleration | str] = (),
    priority: int | None = None,
    host_ports: Sequence[int | ContainerPort] = (),
    image: str = "app",
    phase: str = "",
    uid: str = "",
    created: datetime = _CREATED,
    **spec: Any,  # noqa: ANN401 - any other field of a PodSpec
) -> Pod:
    """Make a pod of one container; its uid is new unless given.

    `cpu` and `memory` are requests in the API's spelling (``100m``, ``1Gi``); `requests` are those
    and any others by name. `node` is where it runs: such a pod is bound. `tolerations` may be
    written as `make_toleration` takes them. Any field of `moorage.model.PodSpec` can be given by
    its name: ``scheduler_name="batch"``.
    """
    wanted = dict(requests or {})
    wanted.update({key: value for key, value in (("cpu", cpu), ("memory", memory)) if value})
    container = Container(
        name="main",
        image=image,
        resources=ResourceRequirements(requests=wanted),
        ports=tuple(
            port
            if isinstance(port, ContainerPort)
            else ContainerPort(container_port=port, host_port=port)
            for port in host_ports
        ),
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"{name}-{next(_uids)}",
            labels=dict(labels or {}),
            creation_timestamp=created,
        ),
        spec=PodSpec(
            node_name=node,
            node_selector=dict(node_selector or {}),
            affinity=affinity,
            tolerations=tuple(
                make_toleration(one) if isinstance(one, str) else one for one in tolerations
            ),
            priority=priority,
            **{"containers": (container,), **spec},
        ),
        status=PodStatus(phase=phase or ("Running" if node else "Pending")),
    )


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: int = 110,
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    zone: str = "",
    taints: Sequence[Taint | str] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
) -> Node:
    """Make a node of 4 cpus, 8 GiB and 110 pods, with the label of its host name.

    `allocatable` are further resources by name (``{"example.com/gpu": "2"}``); `zone` is its label
    ``topology.kubernetes.io/zone``. `taints` may be written as kubectl takes them
    (``gpu=true:NoSchedule``); `images` are bytes by name.
    """
    known = {_HOSTNAME: name} | ({_ZONE: zone} if zone else {})
    room = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "100Gi"}
    room |= dict(allocatable or {})
    return Node(
        metadata=ObjectMeta(
            name=name, uid=name, labels=known | dict(labels or {}), creation_timestamp=_CREATED
        ),
        spec=NodeSpec(
            unschedulable=unschedulable,
            taints=tuple(make_taint(one) if isinstance(one, str) else one for one in taints),
        ),
        status=NodeStatus(
            allocatable=room,
            capacity=room,
            images=tuple(
                ContainerImage(names=(image,), size_bytes=size)
                for image, size in (images or {}).items()
            ),
            declared_features=tuple(features),
        ),
    )


def make_namespace(name: str, *, labels: Mapping[str, str] | None = None) -> Namespace:
    """Make a namespace, with the label of its name that an API server gives it."""
    own = {"kubernetes.io/metadata.name": name}
    return Namespace(metadata=ObjectMeta(name=name, labels=own | dict(labels or {})))


def make_service(name: str, *, selector: Mapping[str, str], namespace: str = "default") -> Service:
    """Make a service of the pods that have some labels."""
    return Service(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=MapSelectorSpec(selector=dict(selector)),
    )


def make_taint(text: str) -> Taint:
    """Make a taint as ``kubectl taint`` takes it: ``key=value:Effect`` or ``key:Effect``."""
    what, _, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    if not key:
        raise ValueError(f"{text!r} is no taint, such as 'gpu=true:NoSchedule'")
    return Taint(key=key, value=value, effect=effect)


def make_toleration(text: str = "") -> Toleration:
    """Make a toleration of a taint, written like one; without a value, of all its values.

    ``gpu=true:NoSchedule``, ``gpu:NoSchedule``, ``gpu`` (of all effects), or empty: of everything.
    """
    what, _, effect = text.partition(":")
    key, equals, value = what.partition("=")
    return Toleration(key=key, operator="Equal" if equals else "Exists", value=value, effect=effect)


def make_affinity(
    *,
    nodes: Mapping[str, Sequence[str]] | None = None,
    prefer_nodes: Mapping[str, Sequence[str]] | None = None,
    weight: int = 1,
    near: Mapping[str, Mapping[str, str]] | None = None,
    away_from: Mapping[str, Mapping[str, str]] | None = None,
) -> Affinity:
    """Make what a pod requires or prefers of its node, and which pods it requires near or far.

    `nodes` and `prefer_nodes` are the values that a node's label may have, by key: all keys must
    hold; of the latter, each counts `weight`. `near` and `away_from` are the labels of pods by
    topology key: ``away_from={"kubernetes.io/hostname": {"app": "web"}}``.
    """
    required = _node_term(nodes) if nodes else None
    preferred = tuple(
        PreferredSchedulingTerm(weight=weight, preference=_node_term({key: values}))
        for key, values in (prefer_nodes or {}).items()
    )
    node_affinity = NodeAffinity(
        required_during_scheduling_ignored_during_execution=(
            NodeSelector(node_selector_terms=(required,)) if required else None
        ),
        preferred_during_scheduling_ignored_during_execution=preferred,
    )
    return Affinity(
        node_affinity=node_affinity if required or preferred else None,
        pod_affinity=_pod_affinity(near),
        pod_anti_affinity=_pod_affinity(away_from),
    )


def _node_term(labels: Mapping[str, Sequence[str]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=tuple(
            NodeSelectorRequirement(key=key, operator="In", values=tuple(values))
            for key, values in labels.items()
        )
    )


def _pod_affinity(wanted: Mapping[str, Mapping[str, str]] | None) -> PodAffinity | None:
    if not wanted:
        return None
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(
            PodAffinityTerm(
                topology_key=key, label_selector=LabelSelector(match_labels=dict(labels))
            )
            for key, labels in wanted.items()
        )
    )
