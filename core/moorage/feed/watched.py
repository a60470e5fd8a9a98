"""Every kind of object that Moorage has a record of: where it comes from and what takes it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from moorage.api.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)
from moorage.cache.cluster import ClusterCache
from moorage.feed.devices import DeviceClassFeed, ResourceClaimFeed, ResourceSliceFeed
from moorage.feed.following import Feed
from moorage.feed.namespaces import NamespaceFeed
from moorage.feed.nodes import NodeFeed
from moorage.feed.pods import PodFeed
from moorage.feed.stored import BudgetFeed, StorageFeed, WorkloadFeed
from moorage.framework.informing import InformedKind
from moorage.model.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.disruption import PodDisruptionBudget
from moorage.model.events import EventResource
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.queueing import SchedulingQueue

__all__ = ["Watched", "watched_kinds"]


class Watched(NamedTuple):
    """A kind of object: the resource, the record it is decoded into, and what takes it in."""

    resource: Resource
    record: type[Any]
    feed: Feed[Any]


_WORKLOADS: tuple[tuple[Resource, type[Any]], ...] = (
    (SERVICES, Service),
    (REPLICATION_CONTROLLERS, ReplicationController),
    (REPLICA_SETS, ReplicaSet),
    (STATEFUL_SETS, StatefulSet),
)

_STORAGE: tuple[tuple[Resource, type[Any], EventResource], ...] = (
    (PERSISTENT_VOLUMES, PersistentVolume, EventResource.PERSISTENT_VOLUME),
    (PERSISTENT_VOLUME_CLAIMS, PersistentVolumeClaim, EventResource.PERSISTENT_VOLUME_CLAIM),
    (STORAGE_CLASSES, StorageClass, EventResource.STORAGE_CLASS),
    (CSI_NODES, CSINode, EventResource.CSI_NODE),
    (CSI_DRIVERS, CSIDriver, EventResource.CSI_DRIVER),
    (CSI_STORAGE_CAPACITIES, CSIStorageCapacity, EventResource.CSI_STORAGE_CAPACITY),
    (VOLUME_ATTACHMENTS, VolumeAttachment, EventResource.VOLUME_ATTACHMENT),
)


def watched_kinds(
    cluster: ClusterCache,
    queue: SchedulingQueue,
    *,
    pods: PodFeed,
    nodes: NodeFeed,
    namespaces: NamespaceFeed,
) -> Iterator[Watched]:
    """Make a feed for each kind but pods, nodes and namespaces, whose feeds there are already."""
    yield Watched(PODS, Pod, pods)
    yield Watched(NODES, Node, nodes)
    yield Watched(NAMESPACES, Namespace, namespaces)
    for resource, kind in _WORKLOADS:
        name = EventResource.SERVICE if resource is SERVICES else _event_resource(resource)
        yield Watched(resource, kind, WorkloadFeed(cluster, queue, kind, name))
    yield Watched(POD_DISRUPTION_BUDGETS, PodDisruptionBudget, BudgetFeed(cluster))
    yield Watched(RESOURCE_CLAIMS, ResourceClaim, ResourceClaimFeed(cluster, queue))
    yield Watched(RESOURCE_SLICES, ResourceSlice, ResourceSliceFeed(cluster, queue))
    yield Watched(DEVICE_CLASSES, DeviceClass, DeviceClassFeed(cluster, queue))
    for resource, kind, event in _STORAGE:
        yield Watched(resource, kind, StorageFeed(cluster, queue, kind, event))


def _event_resource(resource: Resource) -> str:
    return InformedKind(resource.group, resource.version, resource.plural).event_resource
