"""Which events can help a pod whose volumes could not be had."""

from __future__ import annotations

import moorage
from moorage.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
)
from moorage_builtin.volumes.claims import claim_uses, is_bound
from moorage_builtin.volumes.hints import is_used_claim
from moorage_builtin.volumes.translation import MIGRATED_PLUGINS

__all__ = ["Requeueing"]

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP


class Requeueing:
    """The hints of one profile's plugin."""

    def __init__(self, storage: moorage.StorageStore) -> None:
        self._storage = storage

    def hints(self) -> list[moorage.EventHint]:
        """List what helps."""
        action, resource = moorage.ActionType, moorage.EventResource
        event, either = moorage.ClusterEvent, action.ADD | action.UPDATE
        return [
            moorage.EventHint(event(resource.STORAGE_CLASS, either), _after_class),
            moorage.EventHint(event(resource.PERSISTENT_VOLUME_CLAIM, either), is_used_claim),
            moorage.EventHint(event(resource.PERSISTENT_VOLUME, either)),
            moorage.EventHint(event(resource.NODE, action.ADD | action.UPDATE_NODE_LABEL)),
            moorage.EventHint(event(resource.CSI_NODE, either), _after_csi_node),
            moorage.EventHint(event(resource.CSI_DRIVER, action.UPDATE), _after_driver),
            moorage.EventHint(event(resource.CSI_STORAGE_CAPACITY, either), _after_capacity),
            moorage.EventHint(event(resource.ASSIGNED_POD, action.DELETE), self._after_pod),
        ]

    def _after_pod(
        self,
        pod: moorage.Pod,  # noqa: ARG002 - a hint gets all three
        before: moorage.Pod | None,
        after: moorage.Pod | None,  # noqa: ARG002 - as above
    ) -> moorage.QueueingHint:
        """Queue where a pod gave up before its claims were bound: the volumes may be had again."""
        if before is None:
            return _SKIP
        for use in claim_uses(before):
            claim = self._storage.claim(before.metadata.namespace, use.name)
            if claim is None or not is_bound(claim):
                return _QUEUE
        return _SKIP


def _after_class(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: StorageClass | None,
    after: StorageClass | None,
) -> moorage.QueueingHint:
    if before is None or after is None or before.allowed_topologies != after.allowed_topologies:
        return _QUEUE
    return _SKIP


def _after_csi_node(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: CSINode | None,
    after: CSINode | None,
) -> moorage.QueueingHint:
    """Queue where a node comes to leave other kinds of volumes to CSI drivers."""
    if before is None or after is None:
        return _QUEUE
    was, now = (node.metadata.annotations.get(MIGRATED_PLUGINS, "") for node in (before, after))
    return _QUEUE if was != now else _SKIP


def _after_driver(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: CSIDriver | None,
    after: CSIDriver | None,
) -> moorage.QueueingHint:
    """Queue where the room for a driver's volumes no longer counts."""
    if before is None or after is None:
        return _QUEUE
    ends = before.spec.storage_capacity and not after.spec.storage_capacity
    return _QUEUE if ends else _SKIP


def _after_capacity(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: CSIStorageCapacity | None,
    after: CSIStorageCapacity | None,
) -> moorage.QueueingHint:
    """Queue where there is room for larger volumes than before."""
    if before is None or after is None:
        return _QUEUE
    was, now = before.largest_volume, after.largest_volume
    return _QUEUE if now is not None and (was is None or now > was) else _SKIP
