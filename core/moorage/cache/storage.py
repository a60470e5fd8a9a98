"""Volumes, claims, classes, and what CSI drivers say of nodes: by name, and by what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, cast

from moorage.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
    volume_class,
)

__all__ = ["FACT_OF_STORAGE", "ObjectKey", "StorageStore"]

ObjectKey: TypeAlias = tuple[str, str]
"""Namespace (empty where the kind has none) and name."""

FACT_OF_STORAGE: Final[Mapping[type[Any], str]] = MappingProxyType(
    {
        PersistentVolume: "volumes",
        PersistentVolumeClaim: "claims",
        StorageClass: "storage_classes",
        CSINode: "csi_nodes",
        CSIDriver: "csi_drivers",
        CSIStorageCapacity: "storage_capacities",
        VolumeAttachment: "volume_attachments",
    }
)
"""The name of the fact of the cluster that changes with objects of a kind."""

S = TypeVar("S", bound=StorageObject)


class StorageStore:
    """Everything about storage as the API server last told it; objects are found in O(1).

    `facts` are those of the cluster; the ones of `FACT_OF_STORAGE` are counted up here. Volumes are
    found by class too, attachments by node, capacities by class.
    """

    def __init__(self, facts: dict[str, int]) -> None:
        self._facts = facts
        self._objects: dict[type[Any], dict[ObjectKey, StorageObject]] = {
            kind: {} for kind in FACT_OF_STORAGE
        }
        self._volumes_of_class: dict[str, dict[str, PersistentVolume]] = {}
        self._attached_to: dict[str, dict[str, VolumeAttachment]] = {}
        self._capacities_of: dict[str, dict[ObjectKey, CSIStorageCapacity]] = {}
        self._listeners: list[Callable[[], None]] = []

    def all(self, kind: type[S]) -> Iterator[S]:
        """Iterate over all objects of a kind."""
        return iter(cast("list[S]", list(self._objects[kind].values())))

    def get(self, kind: type[S], name: str, namespace: str = "") -> S | None:
        """Return one object, None where there is none of that name."""
        return cast("S | None", self._objects[kind].get((namespace, name)))

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume by name."""
        return self.get(PersistentVolume, name)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim by namespace and name."""
        return self.get(PersistentVolumeClaim, name, namespace)

    def volumes_of_class(self, name: str) -> list[PersistentVolume]:
        """Return the volumes of a class, those without one under the empty name."""
        return list(self._volumes_of_class.get(name, {}).values())

    def capacities_of_class(self, name: str) -> list[CSIStorageCapacity]:
        """Return what CSI drivers say of the room for a class."""
        return list(self._capacities_of.get(name, {}).values())

    def attachments_of(self, node_name: str) -> list[VolumeAttachment]:
        """Return the attachments of volumes to a node."""
        return list(self._attached_to.get(node_name, {}).values())

    @property
    def nodes_with_attachments(self) -> Mapping[str, int]:
        """How many attachments nodes have, by name; those without any are left out."""
        return {name: len(found) for name, found in self._attached_to.items()}

    @contextmanager
    def telling(self, listener: Callable[[], None]) -> Iterator[None]:
        """Have a listener called after each change, as long as the block runs; it must not raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def put(self, item: StorageObject) -> None:
        """Add an object, or replace it by its newer version."""
        kind = _kind_of(item)
        key = (item.metadata.namespace, item.metadata.name)
        before = self._objects[kind].get(key)
        if before is not None:
            self._leave_indexes(before, key)
        self._objects[kind][key] = item
        self._enter_indexes(item, key)
        self._changed(kind)

    def drop(self, kind: type[S], name: str, namespace: str = "") -> None:
        """Forget an object, if it is known."""
        before = self._objects[kind].pop((namespace, name), None)
        if before is not None:
            self._leave_indexes(before, (namespace, name))
            self._changed(kind)

    def check_invariants(self) -> None:
        """Raise AssertionError where an index differs from the objects; O(objects)."""
        anew = StorageStore(dict(self._facts))
        for objects in self._objects.values():
            for key, item in objects.items():
                assert key == (item.metadata.namespace, item.metadata.name)
                anew.put(item)
        assert self._volumes_of_class == anew._volumes_of_class
        assert self._attached_to == anew._attached_to
        assert self._capacities_of == anew._capacities_of

    def _changed(self, kind: type[Any]) -> None:
        self._facts[FACT_OF_STORAGE[kind]] += 1
        for listener in tuple(self._listeners):
            listener()

    def _enter_indexes(self, item: StorageObject, key: ObjectKey) -> None:
        if isinstance(item, PersistentVolume):
            self._volumes_of_class.setdefault(volume_class(item), {})[key[1]] = item
        elif isinstance(item, VolumeAttachment):
            self._attached_to.setdefault(item.spec.node_name, {})[key[1]] = item
        elif isinstance(item, CSIStorageCapacity):
            self._capacities_of.setdefault(item.storage_class_name, {})[key] = item

    def _leave_indexes(self, item: StorageObject, key: ObjectKey) -> None:
        if isinstance(item, PersistentVolume):
            _take_out(self._volumes_of_class, volume_class(item), key[1])
        elif isinstance(item, VolumeAttachment):
            _take_out(self._attached_to, item.spec.node_name, key[1])
        elif isinstance(item, CSIStorageCapacity):
            _take_out(self._capacities_of, item.storage_class_name, key)


def _kind_of(item: StorageObject) -> type[Any]:
    kind = type(item)
    # A wider record, with fields that a plugin declared, is still of its kind.
    return (
        kind
        if kind in FACT_OF_STORAGE
        else next(one for one in kind.__mro__ if one in FACT_OF_STORAGE)
    )


def _take_out(index: dict[str, dict[Any, Any]], where: str, key: object) -> None:
    found = index[where]
    del found[key]
    if not found:
        del index[where]
