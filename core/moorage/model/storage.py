"""Volumes, claims and what CSI drivers say of nodes, as far as a scheduler reads them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from moorage.model.affinity import NodeSelector
from moorage.model.meta import LabelSelector, ObjectMeta
from moorage.model.pods import (
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    GCEPersistentDisk,
    PortworxVolume,
    ResourceRequirements,
)
from moorage.model.quantities import parse_value
from moorage.model.record import Record

__all__ = [
    "AnnotatedMeta",
    "CSIDriver",
    "CSIDriverSpec",
    "CSINode",
    "CSINodeDriver",
    "CSINodeSpec",
    "CSIStorageCapacity",
    "CSIVolume",
    "ObjectReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeSpec",
    "StorageClass",
    "StorageObject",
    "StoragePhase",
    "TopologySelectorTerm",
    "VolumeAttachment",
    "VolumeLimit",
    "VolumeNodeAffinity",
    "storage_bytes",
    "volume_class",
]

_CLASS = "volume.beta.kubernetes.io/storage-class"


class AnnotatedMeta(ObjectMeta, frozen=True):
    """Metadata of objects whose annotations are read: volume controllers speak through them."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class ObjectReference(Record, frozen=True):
    """An object of the API, named from another one."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class CSIVolume(Record, frozen=True):
    """A volume as its CSI driver knows it."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Record, frozen=True):
    """From which nodes a volume can be reached; None: from all."""

    required: NodeSelector | None = None


class StoragePhase(Record, frozen=True):
    """Where a volume or claim stands: Available, Pending, Bound, Released, Lost, ..."""

    phase: str = ""


class PersistentVolumeSpec(Record, frozen=True):
    """PersistentVolumeSpec of the API: `csi`, or one of the older kinds that CSI took over."""

    capacity: dict[str, str] = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolume | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None


class PersistentVolume(Record, frozen=True):
    """A volume of the cluster."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: StoragePhase = StoragePhase()


class PersistentVolumeClaimSpec(Record, frozen=True):
    """What kind of volume is wanted; `volume_name` is set once it is bound, or by the user."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(Record, frozen=True):
    """A wish for a volume, which pods of its namespace use by name."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: StoragePhase = StoragePhase()


class TopologySelectorRequirement(Record, frozen=True):
    """A label that must have one of some values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Record, frozen=True):
    """Labels that must all be as said; a term with nothing in it matches nothing."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(Record, frozen=True):
    """Who makes volumes of a class, when, and for which nodes (no terms: for all)."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeLimit(Record, frozen=True):
    """How many volumes of a driver a node can have; None: no limit is known."""

    count: int | None = None


class CSINodeDriver(Record, frozen=True):
    """A CSI driver on a node."""

    name: str = ""
    allocatable: VolumeLimit | None = None


class CSINodeSpec(Record, frozen=True):
    """The CSI drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Record, frozen=True):
    """What CSI drivers say of the node of the same name."""

    metadata: AnnotatedMeta = AnnotatedMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Record, frozen=True):
    """`storage_capacity`: the driver publishes what room there is, and it is to be looked at."""

    storage_capacity: bool = False


class CSIDriver(Record, frozen=True):
    """A CSI driver of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Record, frozen=True):
    """What room there is for volumes of a class on the nodes of a topology (KEP-1472)."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | None = None
    maximum_volume_size: str | None = None

    @property
    def largest_volume(self) -> int | None:
        """The bytes of the largest volume that there is room for; None: it is not said."""
        limit = self.capacity if self.maximum_volume_size is None else self.maximum_volume_size
        return None if limit is None else parse_value(limit)


class AttachedVolume(Record, frozen=True):
    """Which volume is attached: a PersistentVolume by name, or one of a pod's own."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Record, frozen=True):
    """A volume, the driver that attaches it, and the node."""

    attacher: str = ""
    node_name: str = ""
    source: AttachedVolume = AttachedVolume()


class VolumeAttachment(Record, frozen=True):
    """A volume that is attached to a node, or is to be."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


StorageObject: TypeAlias = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)


def storage_bytes(amounts: dict[str, str]) -> int | None:
    """Return the ``storage`` of a capacity or of requests in bytes, None where it is not said.

    Raises InvalidQuantityError for a text that is no quantity.
    """
    text = amounts.get("storage")
    return None if text is None else parse_value(text)


def volume_class(item: PersistentVolume | PersistentVolumeClaim) -> str:
    """Return the class of a volume or claim, empty: none; the older annotation goes first."""
    annotated = item.metadata.annotations.get(_CLASS)
    return (item.spec.storage_class_name or "") if annotated is None else annotated
