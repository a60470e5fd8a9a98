"""Claims for devices, slices of them, their classes: kept, and told to the pods that they may help."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar, cast

from moorage.cache.cluster import ClusterCache
from moorage.feed.following import Feed
from moorage.model.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.queueing import SchedulingQueue

__all__ = ["DeviceClassFeed", "ResourceClaimFeed", "ResourceSliceFeed"]

T = TypeVar("T", ResourceClaim, ResourceSlice, DeviceClass)


class _Telling(Feed[T], Generic[T]):
    """Tells the queue what became of objects of one kind."""

    resource: EventResource

    def __init__(self, cluster: ClusterCache, queue: SchedulingQueue) -> None:
        self._devices = cluster.devices
        self._queue = queue

    def _happened(self, old: T | None, new: T | None) -> None:
        if old is None:
            action = ActionType.ADD
        elif new is None:
            action = ActionType.DELETE
        else:
            action = ActionType.UPDATE_OTHER
        if old is not None or new is not None:
            self._tell(ClusterEvent(self.resource, action), old, new)


class ResourceClaimFeed(_Telling[ResourceClaim]):
    """Keeps the claims up to date; never goes back to an older version of one."""

    resource = EventResource.RESOURCE_CLAIM

    def identity(self, item: ResourceClaim) -> tuple[str, str]:
        """Return namespace and name."""
        return item.metadata.namespace, item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> tuple[str, str]:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return namespace, name

    def identities(self) -> Iterable[tuple[str, str]]:
        """Return namespace and name of all claims."""
        return [self.identity(claim) for claim in self._devices.claims]

    def newest(self, identity: Hashable) -> ResourceClaim | None:
        """Return the newest version of a claim."""
        return self._devices.claims.get(*cast("tuple[str, str]", identity))

    def put(self, item: ResourceClaim) -> None:
        """Take in a claim; what a claim has or is waiting for may free devices, or a pod."""
        before = self._devices.claims.get(*self.identity(item))
        if before is not None and before.metadata.uid != item.metadata.uid:
            # Deleted and made anew while nobody was looking: another claim of the same name.
            self.drop(self.identity(item))
            before = None
        self._devices.claims.put(item)
        if before is None or (before.spec, before.status) != (item.spec, item.status):
            self._happened(before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a claim."""
        self._happened(self._devices.claims.drop(*cast("tuple[str, str]", identity)), None)


class ResourceSliceFeed(_Telling[ResourceSlice]):
    """Keeps up to date which devices there are."""

    resource = EventResource.RESOURCE_SLICE

    def identity(self, item: ResourceSlice) -> str:
        """Return the slice's name."""
        return item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> str:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return name

    def identities(self) -> Iterable[str]:
        """Return the names of all slices."""
        return [one.metadata.name for one in self._devices.slices]

    def put(self, item: ResourceSlice) -> None:
        """Take in a slice."""
        before = self._devices.slices.put(item)
        if before is None or before.spec != item.spec:
            self._happened(before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a slice."""
        self._happened(self._devices.slices.drop(str(identity)), None)


class DeviceClassFeed(_Telling[DeviceClass]):
    """Keeps the classes of devices up to date."""

    resource = EventResource.DEVICE_CLASS

    def identity(self, item: DeviceClass) -> str:
        """Return the class's name."""
        return item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> str:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return name

    def identities(self) -> Iterable[str]:
        """Return the names of all classes."""
        return [one.metadata.name for one in self._devices.classes]

    def put(self, item: DeviceClass) -> None:
        """Take in a class."""
        before = self._devices.classes.put(item)
        if before is None or before.spec != item.spec:
            self._happened(before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a class."""
        self._happened(self._devices.classes.drop(str(identity)), None)
