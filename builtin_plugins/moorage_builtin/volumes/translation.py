"""Kinds of volumes that are older than CSI, as the drivers know them that took them over.

Rules: those of Kubernetes' CSI migration (KEP-625). Which driver, by what handle a volume is known to
it, and which node label says the zone in its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.model import (
    CSINode,
    CSIVolume,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    Volume,
)

__all__ = [
    "MIGRATED_PLUGINS",
    "csi_driver_of",
    "csi_of_inline",
    "csi_of_volume",
    "is_migrated",
    "older_kind_of",
    "translated_affinity",
]

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode: the older kinds whose volumes the node leaves to CSI drivers."""

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION = "failure-domain.beta.kubernetes.io/region"
_SEVERAL = "__"
_UNSPECIFIED = "UNSPECIFIED"
_MANAGED = "managed"
_PARTS_OF_ZONE = 3
_EBS_VOLUME = re.compile(r"vol-[^/]*")


class _OlderKind(NamedTuple):
    """Its name as a provisioner, the driver that took it over, and that driver's zone label."""

    name: str
    driver: str
    zone_label: str = ""


_KINDS = {
    "aws_elastic_block_store": _OlderKind(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    "gce_persistent_disk": _OlderKind(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"
    ),
    # Of disks of Azure the affinity stays as it is.
    "azure_disk": _OlderKind("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": _OlderKind(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
    ),
    "portworx_volume": _OlderKind("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
"""Older kinds by the field that says where the volume is."""

_DRIVERS = {kind.name: kind.driver for kind in _KINDS.values()}


def csi_driver_of(provisioner: str) -> str:
    """Return the CSI driver behind a provisioner: of an older kind its successor, else itself."""
    return _DRIVERS.get(provisioner, provisioner)


def older_kind_of(volume: PersistentVolume) -> str:
    """Return the name of the older kind that a volume is of; empty: of none that CSI took over."""
    found = _kind_in(volume.spec)
    return "" if found is None else found[0].name


def is_migrated(node: CSINode | None, older_kind: str) -> bool:
    """Say whether a node leaves volumes of an older kind to a CSI driver."""
    if node is None:
        return False
    return older_kind in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def csi_of_volume(volume: PersistentVolume) -> CSIVolume | None:
    """Return a volume as its CSI driver knows it; None: none is behind it."""
    if volume.spec.csi is not None:
        return volume.spec.csi
    return _translated(volume.spec, volume.metadata.labels)


def csi_of_inline(volume: Volume) -> CSIVolume | None:
    """Return a disk that a pod names directly as its CSI driver knows it; None: none is behind it."""
    return _translated(volume, {})


def translated_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return which nodes reach a volume of an older kind, in the words of its CSI driver.

    The zone in the volume's affinity, or else in its labels, becomes the driver's own label.
    """
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    found = _kind_in(volume.spec)
    if found is None or not found[0].zone_label:
        return required
    label, labels = found[0].zone_label, volume.metadata.labels
    terms = () if required is None else required.node_selector_terms
    zone, region = _topology_labels(terms, labels)
    if _values_of(terms, zone):
        terms = _relabelled(terms, zone, label)
    elif zone in labels:
        zones = sorted({one.strip() for one in labels[zone].split(_SEVERAL)} - {""})
        if zones:
            terms = _narrowed(
                terms, NodeSelectorRequirement(key=label, operator="In", values=tuple(zones))
            )
    if region == _OLD_REGION and _values_of(terms, region):
        terms = _relabelled(terms, region, _REGION)
    return NodeSelector(node_selector_terms=terms) if terms else required


def _kind_in(source: Any) -> tuple[_OlderKind, Any] | None:  # noqa: ANN401 - a pod's volume, or a volume's spec
    for field, kind in _KINDS.items():
        value = getattr(source, field)
        if value is not None:
            return kind, value
    return None


def _translated(source: Any, labels: Mapping[str, str]) -> CSIVolume | None:  # noqa: ANN401 - as above
    found = _kind_in(source)
    if found is None:
        return None
    kind, value = found
    if source.gce_persistent_disk is value:
        handle = _disk_handle(value.pd_name, labels)
    elif source.azure_disk is value:
        # Disks in storage accounts are none that the driver knows.
        handle = value.disk_uri if (value.kind or _MANAGED).lower() == _MANAGED else ""
    elif source.aws_elastic_block_store is value:
        handle = _ebs_handle(value.volume_id)
    else:
        handle = value.volume_id
    return CSIVolume(driver=kind.driver, volume_handle=handle) if handle else None


def _ebs_handle(volume_id: str) -> str:
    """Return the bare id of a volume, which may be written as a URL with its zone."""
    if not volume_id.startswith("aws://"):
        return volume_id
    bare = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
    return bare if _EBS_VOLUME.fullmatch(bare) else ""


def _disk_handle(name: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(_OLD_ZONE) or labels.get(_ZONE) or _UNSPECIFIED).split(_SEVERAL)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0]}/disks/{name}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) > 1 or any(len(zone.split("-")) != _PARTS_OF_ZONE for zone in zones):
        return ""
    return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{name}"


def _topology_labels(
    terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]
) -> tuple[str, str]:
    """Return the labels of zone and region that a volume uses: those of today, or the older ones."""
    keys = {needed.key for term in terms for needed in term.match_expressions}
    for known in (keys, labels.keys()):
        if _ZONE in known:
            return _ZONE, _REGION
        if _OLD_ZONE in known:
            return _OLD_ZONE, _OLD_REGION
    return _ZONE, _REGION


def _values_of(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(
        needed.key == key and needed.values for term in terms for needed in term.match_expressions
    )


def _relabelled(
    terms: tuple[NodeSelectorTerm, ...], before: str, after: str
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(needed, key=after) if needed.key == before else needed
                for needed in term.match_expressions
            ),
        )
        for term in terms
    )


def _narrowed(
    terms: tuple[NodeSelectorTerm, ...], needed: NodeSelectorRequirement
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, needed))
        for term in terms or (NodeSelectorTerm(),)
    )
