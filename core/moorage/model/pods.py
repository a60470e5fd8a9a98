"""Pods, as far as a scheduler reads them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from moorage.model.affinity import Affinity, TopologySpreadConstraint
from moorage.model.meta import ObjectMeta
from moorage.model.record import Record

__all__ = [
    "Container",
    "ContainerPort",
    "ContainerRestartRule",
    "ContainerStatus",
    "Pod",
    "PodCondition",
    "PodSchedulingGate",
    "PodSpec",
    "PodStatus",
    "ResourceRequirements",
    "Toleration",
    "is_finished",
    "is_terminating",
    "pod_key",
]


class ResourceRequirements(Record, frozen=True):
    """Requests and limits; quantities are the API's strings."""

    requests: dict[str, str] = msgspec.field(default_factory=dict)
    limits: dict[str, str] = msgspec.field(default_factory=dict)


class ContainerPort(Record, frozen=True):
    """A port of a container; `host_port` 0 means none on the host."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class ContainerRestartRule(Record, frozen=True):
    """What a container's exit does (KEP-5307, KEP-5532)."""

    action: str = ""


class Container(Record, frozen=True):
    """A container; `restart_policy` Always makes an init container a sidecar (KEP-753)."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class Toleration(Record, frozen=True):
    """A toleration; an empty key with Exists tolerates every taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodSchedulingGate(Record, frozen=True):
    """A gate that keeps a pod from being considered until somebody removes it (KEP-3521)."""

    name: str = ""


class ImageVolumeSource(Record, frozen=True):
    """An image that is mounted as a volume (KEP-4639)."""

    reference: str = ""


class Volume(Record, frozen=True):
    """A volume of a pod; only what decides placement is read."""

    name: str = ""
    image: ImageVolumeSource | None = None


class PodSpec(Record, frozen=True):
    """PodSpec of the API."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: dict[str, str] = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    termination_grace_period_seconds: int | None = None


class PodCondition(Record, frozen=True):
    """A condition of a pod, such as PodScheduled."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ContainerStatus(Record, frozen=True):
    """What a container has been given and uses while it is resized in place (KEP-1287)."""

    name: str = ""
    allocated_resources: dict[str, str] | None = None
    resources: ResourceRequirements | None = None


class PodStatus(Record, frozen=True):
    """PodStatus of the API."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: dict[str, str] | None = None
    resources: ResourceRequirements | None = None
    start_time: datetime | None = None


class Pod(Record, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def pod_key(pod: Pod) -> str:
    """Name a pod as people do: ``namespace/name``."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def is_finished(pod: Pod) -> bool:
    """Say whether a pod has ended and no longer uses its node (phase Succeeded or Failed)."""
    return pod.status.phase in {"Succeeded", "Failed"}


def is_terminating(pod: Pod) -> bool:
    """Say whether a pod has been asked to end."""
    return pod.metadata.deletion_timestamp is not None
