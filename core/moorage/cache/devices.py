"""Claims for devices, what devices there are, and their classes: by name, and by what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from moorage.model.devices import IMPLICIT_RESOURCE, DeviceClass, ResourceClaim, ResourceSlice

__all__ = ["ClaimStore", "ClassStore", "DeviceStore", "PoolKey", "SliceStore"]

PoolKey = tuple[str, str]
"""A pool of devices: its driver, and its name there."""

_NEVER = datetime.min.replace(tzinfo=UTC)


class ClaimStore:
    """All ResourceClaims as the API server last told them.

    `allocated` are those that have devices, by uid; `owned_by` finds the claims of a pod.
    `listeners` are called with the uid of each claim that came, changed or went; must not raise.
    """

    def __init__(self) -> None:
        self._claims: dict[tuple[str, str], ResourceClaim] = {}
        self._by_uid: dict[str, ResourceClaim] = {}
        self._owned: dict[str, dict[str, ResourceClaim]] = {}
        self.allocated: dict[str, ResourceClaim] = {}
        self.listeners: list[Callable[[str], None]] = []

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[ResourceClaim]:
        return iter(tuple(self._claims.values()))

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return one claim, None where there is none of that name."""
        return self._claims.get((namespace, name))

    def by_uid(self, uid: str) -> ResourceClaim | None:
        """Return one claim; a claim of the same name made anew has another uid."""
        return self._by_uid.get(uid)

    def owned_by(self, uid: str) -> list[ResourceClaim]:
        """Return the claims that an object controls, by its uid."""
        return list(self._owned.get(uid, {}).values())

    def put(self, claim: ResourceClaim) -> ResourceClaim | None:
        """Add a claim, or replace it by its newer version; returns the older."""
        key = (claim.metadata.namespace, claim.metadata.name)
        before = self._claims.get(key)
        if before is not None:
            self._leave_indexes(before)
        self._claims[key] = claim
        uid = claim.metadata.uid
        self._by_uid[uid] = claim
        for owner in claim.metadata.owner_references:
            if owner.controller:
                self._owned.setdefault(owner.uid, {})[uid] = claim
        if claim.status.allocation is not None:
            self.allocated[uid] = claim
        if before is not None and before.metadata.uid != uid:
            self._tell(before.metadata.uid)
        self._tell(uid)
        return before

    def drop(self, namespace: str, name: str) -> ResourceClaim | None:
        """Forget a claim; returns what was known of it."""
        before = self._claims.pop((namespace, name), None)
        if before is not None:
            self._leave_indexes(before)
            self._tell(before.metadata.uid)
        return before

    def check_invariants(self) -> None:
        """Raise AssertionError where an index differs from the claims."""
        assert self._by_uid == {one.metadata.uid: one for one in self}
        assert self.allocated == {
            one.metadata.uid: one for one in self if one.status.allocation is not None
        }
        owned: dict[str, dict[str, ResourceClaim]] = {}
        for claim in self:
            for owner in claim.metadata.owner_references:
                if owner.controller:
                    owned.setdefault(owner.uid, {})[claim.metadata.uid] = claim
        assert self._owned == owned

    def _tell(self, uid: str) -> None:
        for listener in self.listeners:
            listener(uid)

    def _leave_indexes(self, claim: ResourceClaim) -> None:
        uid = claim.metadata.uid
        self._by_uid.pop(uid, None)
        self.allocated.pop(uid, None)
        for owner in claim.metadata.owner_references:
            owned = self._owned.get(owner.uid)
            if owned is not None:
                owned.pop(uid, None)
                if not owned:
                    del self._owned[owner.uid]


class SliceStore:
    """All ResourceSlices, by the pool that they are part of."""

    def __init__(self) -> None:
        self._slices: dict[str, ResourceSlice] = {}
        self._pools: dict[PoolKey, dict[str, ResourceSlice]] = {}
        self._versions: dict[PoolKey, int] = {}
        self.version = 0
        """Grows with every change of a slice's spec."""

    def __len__(self) -> int:
        return len(self._slices)

    def __iter__(self) -> Iterator[ResourceSlice]:
        return iter(tuple(self._slices.values()))

    def get(self, name: str) -> ResourceSlice | None:
        """Return one slice, None where there is none of that name."""
        return self._slices.get(name)

    @property
    def pools(self) -> Mapping[PoolKey, int]:
        """When each pool was last changed, as `version` counts."""
        return self._versions

    def of_pool(self, key: PoolKey) -> list[ResourceSlice]:
        """Return the slices of a pool, of all generations, by name."""
        return [one for _, one in sorted(self._pools.get(key, {}).items())]

    def put(self, item: ResourceSlice) -> ResourceSlice | None:
        """Add a slice, or replace it by its newer version; returns the older."""
        before = self._slices.get(item.metadata.name)
        self._slices[item.metadata.name] = item
        if before is None or before.spec != item.spec:
            if before is not None:
                self._leave_pool(before)
            key = _pool_of(item)
            self._pools.setdefault(key, {})[item.metadata.name] = item
            self._changed(key)
        return before

    def drop(self, name: str) -> ResourceSlice | None:
        """Forget a slice; returns what was known of it."""
        before = self._slices.pop(name, None)
        if before is not None:
            self._leave_pool(before)
        return before

    def check_invariants(self) -> None:
        """Raise AssertionError where the pools differ from the slices."""
        assert self._versions.keys() == self._pools.keys() == {_pool_of(one) for one in self}
        for key, slices in self._pools.items():
            names = {one.metadata.name for one in self if _pool_of(one) == key}
            assert slices.keys() == names
            assert all(slices[name].spec == self._slices[name].spec for name in names)

    def _leave_pool(self, item: ResourceSlice) -> None:
        key = _pool_of(item)
        slices = self._pools[key]
        slices.pop(item.metadata.name, None)
        self._changed(key)
        if not slices:
            del self._pools[key], self._versions[key]

    def _changed(self, key: PoolKey) -> None:
        self.version += 1
        self._versions[key] = self.version


class ClassStore:
    """All DeviceClasses, also by the resource that pods can ask for their devices by (KEP-5004)."""

    def __init__(self) -> None:
        self._classes: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, list[DeviceClass]] = {}

    def __len__(self) -> int:
        return len(self._classes)

    def __iter__(self) -> Iterator[DeviceClass]:
        return iter(tuple(self._classes.values()))

    def get(self, name: str) -> DeviceClass | None:
        """Return one class, None where there is none of that name."""
        return self._classes.get(name)

    def for_resource(self, resource: str) -> DeviceClass | None:
        """Return the class whose devices a resource stands for: the newest, then the first by name."""
        named = self._by_resource.get(resource)
        if named:
            return named[0]
        if resource.startswith(IMPLICIT_RESOURCE):
            return self._classes.get(resource.removeprefix(IMPLICIT_RESOURCE))
        return None

    def put(self, item: DeviceClass) -> DeviceClass | None:
        """Add a class, or replace it by its newer version; returns the older."""
        before = self._classes.get(item.metadata.name)
        if before is not None:
            self._leave_index(before)
        self._classes[item.metadata.name] = item
        resource = item.spec.extended_resource_name
        if resource:
            named = self._by_resource.setdefault(resource, [])
            named.append(item)
            named.sort(key=lambda one: one.metadata.name)
            named.sort(key=lambda one: one.metadata.creation_timestamp or _NEVER, reverse=True)
        return before

    def drop(self, name: str) -> DeviceClass | None:
        """Forget a class; returns what was known of it."""
        before = self._classes.pop(name, None)
        if before is not None:
            self._leave_index(before)
        return before

    def _leave_index(self, item: DeviceClass) -> None:
        resource = item.spec.extended_resource_name
        if resource:
            kept = [one for one in self._by_resource[resource] if one is not item]
            if kept:
                self._by_resource[resource] = kept
            else:
                del self._by_resource[resource]


class DeviceStore:
    """What the cluster has of devices: `claims` for them, `slices` of them, their `classes`."""

    def __init__(self) -> None:
        self.claims = ClaimStore()
        self.slices = SliceStore()
        self.classes = ClassStore()


def _pool_of(item: ResourceSlice) -> PoolKey:
    return item.spec.driver, item.spec.pool.name
