"""Pods, as far as a scheduler reads them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from moorage.model.affinity import Affinity, TopologySpreadConstraint
from moorage.model.meta import ObjectMeta
from moorage.model.record import Record

__all__ = [
    "ISCSI",
    "RBD",
    "AWSElasticBlockStore",
    "AzureDisk",
    "CSISource",
    "Cinder",
    "ClaimSource",
    "Container",
    "ContainerPort",
    "ContainerRestartRule",
    "ContainerStatus",
    "EphemeralSource",
    "GCEPersistentDisk",
    "Pod",
    "PodCondition",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSpec",
    "PodStatus",
    "PortworxVolume",
    "ResourceRequirements",
    "Toleration",
    "Volume",
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


class ClaimSource(Record, frozen=True):
    """A PersistentVolumeClaim of the pod's namespace."""

    claim_name: str = ""


class EphemeralSource(Record, frozen=True):
    """A claim that is made for the pod and goes with it (KEP-1698)."""


class AWSElasticBlockStore(Record, frozen=True):
    """A volume of AWS, by its id."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class GCEPersistentDisk(Record, frozen=True):
    """A disk of Google's cloud, by its name."""

    pd_name: str = ""
    read_only: bool = False


class AzureDisk(Record, frozen=True):
    """A disk of Azure, by its URI; `kind` (Managed, Shared, ...) says who looks after it."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class Cinder(Record, frozen=True):
    """A volume of OpenStack, by its id."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class PortworxVolume(Record, frozen=True):
    """A volume of Portworx, by its id."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class ISCSI(Record, frozen=True):
    """A disk on a network, by its qualified name."""

    iqn: str = ""
    read_only: bool = False


class RBD(Record, frozen=True):
    """A block device of Ceph, by one of its monitors, pool and image."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class CSISource(Record, frozen=True):
    """A volume that a CSI driver makes for the pod alone."""

    driver: str = ""


class Volume(Record, frozen=True):
    """A volume of a pod; only what decides placement is read."""

    name: str = ""
    image: ImageVolumeSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    csi: CSISource | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None

    @property
    def is_storage(self) -> bool:
        """Whether this is a claim, or a disk that is named directly."""
        sources = (
            self.persistent_volume_claim,
            self.ephemeral,
            self.aws_elastic_block_store,
            self.gce_persistent_disk,
            self.azure_disk,
            self.cinder,
            self.portworx_volume,
            self.iscsi,
            self.rbd,
        )
        return sources.count(None) < len(sources)

    def claim_of(self, pod_name: str) -> str | None:
        """Return the name of the claim that a pod uses by this volume; None: it is no claim."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        return None if self.ephemeral is None else f"{pod_name}-{self.name}"


class PodResourceClaim(Record, frozen=True):
    """Devices that a pod uses: a claim by name, or one that is made for the pod from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


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
    resource_claims: tuple[PodResourceClaim, ...] = ()
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


class PodResourceClaimStatus(Record, frozen=True):
    """The claim that was made for a pod, by its name in the pod; None: none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


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
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


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
