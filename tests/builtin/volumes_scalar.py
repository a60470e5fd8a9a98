"""The plugins about volumes, one node at a time: slow, and obviously right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage import Code, PodInfo, Verdict
from moorage.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    InvalidSelectorError,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    StorageObject,
    Volume,
    VolumeAttachment,
    node_term_requirements,
    parse_value,
    selector_of,
)

__all__ = ["ScalarStorage"]

_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_OLD_ZONES = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_SELECTED = "volume.kubernetes.io/selected-node"
_Claim = PersistentVolumeClaim


def _unresolvable(*reasons: str) -> Verdict:
    return Verdict(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


class ScalarStorage:
    """Everything about storage, and the answers of each plugin about one pod and one node."""

    def __init__(self, objects: Iterable[StorageObject], pods: Iterable[PodInfo]) -> None:
        objects = list(objects)
        self.volumes = {x.metadata.name: x for x in objects if isinstance(x, PersistentVolume)}
        self.claims = {x.metadata.name: x for x in objects if isinstance(x, _Claim)}
        self.classes = {x.metadata.name: x for x in objects if isinstance(x, StorageClass)}
        self.csi_nodes = {x.metadata.name: x for x in objects if isinstance(x, CSINode)}
        self.drivers = {x.metadata.name: x for x in objects if isinstance(x, CSIDriver)}
        self.rooms = [x for x in objects if isinstance(x, CSIStorageCapacity)]
        self.attachments = [x for x in objects if isinstance(x, VolumeAttachment)]
        self.pods = [info.pod for info in pods]

    # VolumeBinding

    def volume_binding(self, pod: Pod, node: Node) -> Verdict | None:
        """Say why the pod's claims cannot be had on a node."""
        claims = [self.claims.get(name) for name in _claim_names(pod)]
        for name, claim in zip(_claim_names(pod), claims, strict=True):
            if claim is None:
                return _unresolvable(f'persistentvolumeclaim "{name}" not found')
        known = [claim for claim in claims if claim is not None]
        unbound = [claim for claim in known if not _is_bound(claim)]
        for claim in unbound:
            found = self.classes.get(claim.spec.storage_class_name or "")
            if claim.spec.volume_name or (
                found is not None and found.volume_binding_mode == "Immediate"
            ):
                return _unresolvable("pod has unbound immediate PersistentVolumeClaims")
            if found is None:
                wanted, name = claim.spec.storage_class_name, claim.metadata.name
                missing = (
                    f' (storageclass "{wanted}" of persistentvolumeclaim "{name}" not found)'
                    if wanted
                    else ""
                )
                return _unresolvable(f"pod has unbound immediate PersistentVolumeClaims{missing}")
        reasons = [
            *self._bound_reasons([claim for claim in known if _is_bound(claim)], node),
            *self._unbound_reasons(unbound, node),
        ]
        return _unresolvable(*reasons) if reasons else None

    def _bound_reasons(self, claims: list[_Claim], node: Node) -> Iterator[str]:
        for claim in claims:
            volume = self.volumes.get(claim.spec.volume_name)
            if volume is None:
                yield "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
                return
            if not _reaches(volume, node):
                yield "node(s) didn't match PersistentVolume's node affinity"
                return

    def _unbound_reasons(self, claims: list[_Claim], node: Node) -> Iterator[str]:
        none_to_bind = "node(s) didn't find available persistent volumes to bind"
        to_provision: list[_Claim] = []
        to_match: list[_Claim] = []
        for claim in claims:
            selected = claim.metadata.annotations.get(_SELECTED)
            if selected is not None and selected != node.metadata.name:
                yield none_to_bind
                return
            (to_match if selected is None else to_provision).append(claim)
        chosen: set[str] = set()
        for claim in sorted(to_match, key=_requested):
            volume = self._match(claim, node, chosen)
            if volume is None:
                to_provision.append(claim)
            else:
                chosen.add(volume.metadata.name)
        for claim in to_provision:
            found = self.classes[claim.spec.storage_class_name or ""]
            if found.provisioner == "kubernetes.io/no-provisioner" or not _allows(found, node):
                yield none_to_bind
                return
            if not self._has_room(claim, found, node):
                yield "node(s) did not have enough free storage"
                return

    def _match(self, claim: _Claim, node: Node, chosen: set[str]) -> PersistentVolume | None:
        best: PersistentVolume | None = None
        for name in sorted(self.volumes):
            volume = self.volumes[name]
            if (
                name in chosen
                or volume.spec.storage_class_name != (claim.spec.storage_class_name or "")
                or _capacity(volume) < _requested(claim)
                or (volume.spec.volume_mode or "Filesystem")
                != (claim.spec.volume_mode or "Filesystem")
            ):
                continue
            reference = volume.spec.claim_ref
            if reference is not None:
                if reference.name != claim.metadata.name or reference.uid not in {
                    "",
                    claim.metadata.uid,
                }:
                    continue
                return volume if _reaches(volume, node) else None
        for name in sorted(self.volumes):
            volume = self.volumes[name]
            selector = claim.spec.selector
            if (
                name not in chosen
                and volume.spec.claim_ref is None
                and volume.spec.storage_class_name == (claim.spec.storage_class_name or "")
                and _capacity(volume) >= _requested(claim)
                and (volume.spec.volume_mode or "Filesystem")
                == (claim.spec.volume_mode or "Filesystem")
                and volume.status.phase == "Available"
                and (selector is None or selector_of(selector).matches(volume.metadata.labels))
                and all(mode in volume.spec.access_modes for mode in claim.spec.access_modes)
                and _reaches(volume, node)
                and (best is None or _capacity(volume) < _capacity(best))
            ):
                best = volume
        return best

    def _has_room(self, claim: _Claim, found: StorageClass, node: Node) -> bool:
        driver = self.drivers.get(found.provisioner)
        if driver is None or not driver.spec.storage_capacity:
            return True
        for room in self.rooms:
            limit = room.capacity if room.maximum_volume_size is None else room.maximum_volume_size
            if (
                room.storage_class_name == found.metadata.name
                and limit is not None
                and parse_value(limit) >= _requested(claim)
                and room.node_topology is not None
                and selector_of(room.node_topology).matches(node.metadata.labels)
            ):
                return True
        return False

    # VolumeRestrictions

    def volume_restrictions(self, pod: Pod, node: Node) -> Verdict | None:
        """Say whose disk or claim stands in the way on a node."""
        for name in _claim_names(pod):
            if name not in self.claims:
                return _unresolvable(f'persistentvolumeclaim "{name}" not found')
        on_node = [other for other in self.pods if other.spec.node_name == node.metadata.name]
        for other in on_node:
            for one in pod.spec.volumes:
                if any(_clash(one, used) for used in other.spec.volumes):
                    return Verdict.unschedulable("node(s) had no available disk")
        for name in _claim_names(pod):
            if "ReadWriteOncePod" in self.claims[name].spec.access_modes and any(
                name in _claim_names(other) for other in self.pods
            ):
                return Verdict.unschedulable(
                    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                    "access mode already in-use by another pod"
                )
        return None

    # VolumeZone

    def volume_zone(self, pod: Pod, node: Node) -> Verdict | None:
        """Say whether the volumes' labels keep the pod off a node."""
        topologies: list[tuple[str, list[str]]] = []
        for name in _claim_names(pod):
            claim = self.claims.get(name)
            if claim is None:
                return _unresolvable(f'persistentvolumeclaim "{name}" not found')
            problem = self._zone_problem(claim)
            if problem:
                return _unresolvable(problem)
            volume = self.volumes.get(claim.spec.volume_name)
            for label in (*_ZONES, *_OLD_ZONES):
                text = "" if volume is None else volume.metadata.labels.get(label, "")
                if all(text.split("__")):
                    topologies.append((label, text.split("__")))
        labels = node.metadata.labels
        if not any(label in labels for label in (*_ZONES, *_OLD_ZONES)):
            return None
        todays = dict(zip(_OLD_ZONES, _ZONES, strict=True))
        for label, zones in topologies:
            value = labels.get(label, labels.get(todays.get(label, label), ""))
            if value not in zones:
                return _unresolvable("node(s) had no available volume zone")
        return None

    def _zone_problem(self, claim: _Claim) -> str:
        if claim.spec.volume_name:
            missing = claim.spec.volume_name not in self.volumes
            return f'persistentvolume "{claim.spec.volume_name}" not found' if missing else ""
        wanted = claim.spec.storage_class_name or ""
        if not wanted:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        if wanted not in self.classes:
            return f'storageclass.storage.k8s.io "{wanted}" not found'
        waits = self.classes[wanted].volume_binding_mode == "WaitForFirstConsumer"
        return "" if waits else "PersistentVolume had no name"

    # NodeVolumeLimits

    def node_volume_limits(self, pod: Pod, node: Node) -> Verdict | None:
        """Say whether a driver could attach so many volumes to a node."""
        for name in _claim_names(pod):
            if name not in self.claims:
                return _unresolvable(
                    f'looking up PVC ns/{name}: persistentvolumeclaim "{name}" not found'
                )
        said = self.csi_nodes.get(node.metadata.name)
        attached = self._attached_to(node.metadata.name)
        for driver in () if said is None else said.spec.drivers:
            if driver.allocatable is None or driver.allocatable.count is None:
                continue
            there = {one for one in attached if one[0] == driver.name}
            new = {one for one in self._attachable(pod) if one[0] == driver.name} - there
            if new and len(there) + len(new) > driver.allocatable.count:
                return Verdict.unschedulable("node(s) exceed max volume count")
        return None

    def _attached_to(self, node: str) -> set[tuple[str, str]]:
        attached: set[tuple[str, str]] = set()
        for other in self.pods:
            if other.spec.node_name == node:
                attached |= set(self._attachable(other))
        for attachment in self.attachments:
            volume = self.volumes.get(attachment.spec.source.persistent_volume_name or "")
            if (
                attachment.spec.node_name == node
                and volume is not None
                and volume.spec.csi is not None
            ):
                attached.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return attached

    def _attachable(self, pod: Pod) -> Iterator[tuple[str, str]]:
        for volume in pod.spec.volumes:
            if volume.aws_elastic_block_store is not None:
                yield "ebs.csi.aws.com", volume.aws_elastic_block_store.volume_id
            if volume.gce_persistent_disk is not None:
                yield "pd.csi.storage.gke.io", volume.gce_persistent_disk.pd_name
        for name in _claim_names(pod):
            claim = self.claims.get(name)
            if claim is None:
                continue
            bound = self.volumes.get(claim.spec.volume_name)
            found = self.classes.get(claim.spec.storage_class_name or "")
            if bound is not None and bound.spec.csi is not None:
                yield bound.spec.csi.driver, bound.spec.csi.volume_handle
            elif found is not None:
                yield found.provisioner, f"unbound {name}"


def _claim_names(pod: Pod) -> list[str]:
    return [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]


def _is_bound(claim: _Claim) -> bool:
    return bool(claim.spec.volume_name) and (
        "pv.kubernetes.io/bind-completed" in claim.metadata.annotations
    )


def _requested(claim: _Claim) -> int:
    return parse_value(claim.spec.resources.requests["storage"])


def _capacity(volume: PersistentVolume) -> int:
    return parse_value(volume.spec.capacity["storage"])


def _reaches(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    for term in affinity.required.node_selector_terms:
        try:
            labels, fields = node_term_requirements(term)
        except InvalidSelectorError:
            continue
        if (labels or fields) and (
            all(one.accepts(node.metadata.labels.get(one.key)) for one in labels)
            and all(one.accepts(None) for one in fields)
        ):
            return True
    return False


def _allows(found: StorageClass, node: Node) -> bool:
    return not found.allowed_topologies or any(
        term.match_label_expressions
        and all(
            node.metadata.labels.get(one.key) in one.values for one in term.match_label_expressions
        )
        for term in found.allowed_topologies
    )


def _clash(one: Volume, other: Volume) -> bool:
    if one.gce_persistent_disk and other.gce_persistent_disk:
        disk, used = one.gce_persistent_disk, other.gce_persistent_disk
        return disk.pd_name == used.pd_name and not (disk.read_only and used.read_only)
    if one.aws_elastic_block_store and other.aws_elastic_block_store:
        return one.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if one.iscsi and other.iscsi:
        return one.iscsi.iqn == other.iscsi.iqn and not (
            one.iscsi.read_only and other.iscsi.read_only
        )
    if one.rbd and other.rbd:
        image, used_image = one.rbd, other.rbd
        return (
            any(monitor in used_image.monitors for monitor in image.monitors)
            and image.pool == used_image.pool
            and image.image == used_image.image
            and not (image.read_only and used_image.read_only)
        )
    return False
