"""NodeVolumeLimits: no more volumes of a CSI driver on a node than the driver says it can have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import (
    CSINode,
    CSIVolume,
    PersistentVolumeClaim,
    StorageClass,
    Volume,
    VolumeAttachment,
    volume_class,
)
from moorage_builtin.volumes.claims import claim_uses, is_for, not_found, owner_problem
from moorage_builtin.volumes.hints import is_used_claim
from moorage_builtin.volumes.translation import csi_driver_of, csi_of_inline, csi_of_volume

__all__ = ["NodeVolumeLimits"]

_TOO_MANY = 1
_CLAIM_MISSING = 2
_EXCEEDED = moorage.Verdict.unschedulable("node(s) exceed max volume count")

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP


class NodeVolumeLimits(moorage.Plugin):
    """Filters by how many volumes CSI drivers can attach to a node (``CSINode``).

    A volume counts once for a node, however many of its pods use it, and if it is still attached
    for a pod that has gone. A node whose CSINode says nothing about a driver has no limit.
    """

    # Of pods without volumes nothing is asked; of all others the plugin is asked anew.
    filter_depends = moorage.Depends(pods=True)
    watches = (
        "csinodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses",
        "volumeattachments",
    )

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Pods without volumes look the same."""
        return None if any(_may_count(volume) for volume in pod.spec.volumes) else ()

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Find the volumes that the pod would have attached; skip pods that have none."""
        if not any(_may_count(volume) for volume in pod.spec.volumes):
            return moorage.SKIP
        state["problem"] = problem = self._problem(pod)
        state["volumes"] = frozenset() if problem else frozenset(self._volumes_of(pod))
        return None

    @moorage.hookimpl
    def filter_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int8]:
        """Return (n,) codes: 1 where a limit is exceeded, 2 everywhere if a claim is missing."""
        codes = np.zeros(len(nodes), dtype=np.int8)
        if state["problem"]:
            codes[:] = _CLAIM_MISSING
            return codes
        volumes: frozenset[CSIVolume] = state["volumes"]
        for driver, count in Counter(volume.driver for volume in volumes).items():
            limits = nodes.volume_limits(driver)
            if limits is None:
                continue
            # Few nodes are near their limit: only of these it is counted what is really attached.
            most = nodes.volume_counts + nodes.attachment_counts
            for position in np.flatnonzero(most + count > limits).tolist():
                if self._exceeds(volumes, driver, int(limits[position]), nodes, position):
                    codes[position] = _TOO_MANY
        return codes

    @moorage.hookimpl
    def explain(self, state: moorage.CycleState, code: int) -> moorage.Verdict:
        """Preempting a pod detaches its volumes; it does not make a claim."""
        if code == _CLAIM_MISSING:
            return moorage.Verdict.unresolvable(state["problem"])
        return _EXCEEDED

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when volumes are detached, a limit rises, or a claim appears."""
        action, resource = moorage.ActionType, moorage.EventResource
        event = moorage.ClusterEvent
        return [
            moorage.EventHint(event(resource.CSI_NODE, action.ADD | action.UPDATE), _after_limits),
            moorage.EventHint(event(resource.ASSIGNED_POD, action.DELETE), _after_pod),
            moorage.EventHint(event(resource.PERSISTENT_VOLUME_CLAIM, action.ADD), is_used_claim),
            moorage.EventHint(event(resource.VOLUME_ATTACHMENT, action.DELETE), _after_detachment),
        ]

    def _exceeds(
        self,
        volumes: frozenset[CSIVolume],
        driver: str,
        limit: int,
        nodes: moorage.NodesView,
        position: int,
    ) -> bool:
        """Say whether the new volumes of a driver are too many for one row."""
        attached = {
            volume
            for info in nodes.pod_infos(position)
            if info.storage_volumes
            for volume in self._volumes_of(info.pod)
            if volume.driver == driver
        }
        for attachment in self.handle.storage.attachments_of(nodes.name(position)):
            volume = self._attached(attachment)
            if volume is not None and volume.driver == driver:
                attached.add(volume)
        added = {volume for volume in volumes if volume.driver == driver} - attached
        return bool(added) and len(attached) + len(added) > limit

    def _volumes_of(self, pod: moorage.Pod) -> Iterator[CSIVolume]:
        """Return a pod's volumes as their drivers know them; others are left out."""
        for volume in pod.spec.volumes:
            name = volume.claim_of(pod.metadata.name)
            if name is None:
                found = csi_of_inline(volume)
            else:
                claim = self.handle.storage.claim(pod.metadata.namespace, name)
                if claim is None or (volume.ephemeral is not None and not is_for(pod, claim)):
                    continue
                found = self._volume_of(claim)
            if found is not None:
                yield found

    def _volume_of(self, claim: PersistentVolumeClaim) -> CSIVolume | None:
        """Return the volume of a claim; of one that has none yet, what it is going to be."""
        storage = self.handle.storage
        volume = storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            return csi_of_volume(volume)
        found = storage.get(StorageClass, volume_class(claim))
        if found is None or not found.provisioner:
            return None
        metadata = claim.metadata
        # No real handle looks like that.
        handle = f"\0{metadata.namespace}/{metadata.name}"
        return CSIVolume(driver=csi_driver_of(found.provisioner), volume_handle=handle)

    def _attached(self, attachment: VolumeAttachment) -> CSIVolume | None:
        """Return which volume is attached; None: of older kinds only what pods use counts."""
        name = attachment.spec.source.persistent_volume_name
        volume = self.handle.storage.volume(name) if name else None
        if volume is None or volume.spec.csi is None or not attachment.spec.attacher:
            return None
        handle = volume.spec.csi.volume_handle
        return CSIVolume(driver=attachment.spec.attacher, volume_handle=handle)

    def _problem(self, pod: moorage.Pod) -> str:
        """Say what keeps a new pod's volumes from being counted; empty: nothing."""
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            name = volume.claim_of(pod.metadata.name)
            if name is None:
                continue
            claim = self.handle.storage.claim(namespace, name)
            if claim is None:
                return f"looking up PVC {namespace}/{name}: {not_found(name)}"
            if volume.ephemeral is not None and not is_for(pod, claim):
                return owner_problem(pod, claim)
        return ""


def _may_count(volume: Volume) -> bool:
    """Say whether a volume may be one that a CSI driver attaches."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or csi_of_inline(volume) is not None
    )


def _limits_of(node: CSINode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _after_limits(
    pod: moorage.Pod,  # noqa: ARG001 - a hint gets all three
    before: CSINode | None,
    after: CSINode | None,
) -> moorage.QueueingHint:
    """Queue where a limit rises, or is no longer said; one that was not said counts as 0."""
    if before is None or after is None:
        return _QUEUE
    was, now = _limits_of(before), _limits_of(after)
    rises = any(limit > was.get(name, 0) for name, limit in now.items())
    return _QUEUE if rises or was.keys() - now.keys() else _SKIP


def _after_detachment(
    pod: moorage.Pod,
    before: VolumeAttachment | None,
    after: VolumeAttachment | None,
) -> moorage.QueueingHint:
    """Queue pods with claims, whosever volume it was, and pods with disks of that driver."""
    gone = before or after
    if gone is None:
        return _SKIP
    disks = (csi_of_inline(volume) for volume in pod.spec.volumes)
    drivers = {disk.driver for disk in disks if disk is not None}
    return _QUEUE if claim_uses(pod) or gone.spec.attacher in drivers else _SKIP


def _after_pod(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: moorage.Pod | None,
    after: moorage.Pod | None,  # noqa: ARG001 - as above
) -> moorage.QueueingHint:
    if before is None or not before.spec.node_name:
        return _SKIP
    return _QUEUE if any(_may_count(volume) for volume in before.spec.volumes) else _SKIP
