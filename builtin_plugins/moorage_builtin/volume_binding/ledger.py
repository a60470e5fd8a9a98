"""What is promised to pods on their way: volumes to claims, and nodes to claims.

::

    hold (reserve) ---release---> gone, where nothing was written
         |
         written ---release---> kept until the watch tells of what was written

One ledger a process: pods of all profiles see the same promises, or two of them would get one volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

import moorage
from moorage.model import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from moorage_builtin.volumes.claims import is_bound, is_reserved_for

__all__ = ["SELECTED_NODE", "Ledger", "claim_key", "reference_to", "version_of"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the node on which its volume is to be made, or reachable."""

K = TypeVar("K")
P = TypeVar("P", bound="_Promise")
_ClaimKey = tuple[str, str]


class _Promise:
    """`holders` are the uids of pods that rely on it; it was `written` as this version, 0: not yet."""

    __slots__ = ("holders", "written")

    def __init__(self) -> None:
        self.holders: set[str] = set()
        self.written = 0

    def holds(self, version: int) -> bool:
        """Say whether it is to be reckoned with beside an object of this version."""
        return bool(self.holders) or version < self.written


class _VolumePromise(_Promise):
    """A volume that is promised to a claim."""

    __slots__ = ("claim",)

    def __init__(self, claim: PersistentVolumeClaim) -> None:
        super().__init__()
        self.claim = claim


class _NodePromise(_Promise):
    """A claim whose volume is going to be made for a node."""

    __slots__ = ("node",)

    def __init__(self, node: str) -> None:
        super().__init__()
        self.node = node


class Ledger:
    """Volumes and claims as they will be when the promises are kept; `storage` as they are."""

    def __init__(self, storage: moorage.StorageStore) -> None:
        self.storage = storage
        self._volumes: dict[str, _VolumePromise] = {}
        self._nodes: dict[_ClaimKey, _NodePromise] = {}

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume; one that is promised names its claim."""
        known = self.storage.volume(name)
        return None if known is None else self._promised(known)

    def volumes_of_class(self, name: str) -> Iterator[PersistentVolume]:
        """Iterate over the volumes of a class, by name."""
        for known in sorted(self.storage.volumes_of_class(name), key=lambda one: one.metadata.name):
            yield self._promised(known)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim; one whose node is promised names it."""
        known = self.storage.claim(namespace, name)
        promise = self._nodes.get((namespace, name))
        if known is None or promise is None:
            return known
        if not promise.holds(version_of(known)):
            del self._nodes[namespace, name]
            return known
        if is_bound(known):
            return known
        metadata = known.metadata
        annotations = {**metadata.annotations, SELECTED_NODE: promise.node}
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
        return msgspec.structs.replace(known, metadata=metadata)

    def hold_volume(self, name: str, claim: PersistentVolumeClaim, holder: str) -> None:
        """Promise a volume to a claim, for a pod; ValueError where another claim has it."""
        promise = self._volumes.get(name)
        known = self.storage.volume(name)
        if promise is not None and (known is None or not promise.holds(version_of(known))):
            promise = None
        if promise is None:
            promise = self._volumes[name] = _VolumePromise(claim)
        elif claim_key(promise.claim) != claim_key(claim):
            raise ValueError(
                f"volume {name} is promised to claim {'/'.join(claim_key(promise.claim))}"
            )
        promise.holders.add(holder)

    def hold_node(self, claim: PersistentVolumeClaim, node: str, holder: str) -> None:
        """Promise that a claim's volume is made for a node; ValueError where it is for another."""
        key = claim_key(claim)
        promise = self._nodes.get(key)
        known = self.storage.claim(*key)
        if promise is not None and (known is None or not promise.holds(version_of(known))):
            promise = None
        if promise is None:
            promise = self._nodes[key] = _NodePromise(node)
        elif promise.node != node:
            raise ValueError(f"claim {'/'.join(key)} is promised to node {promise.node}")
        promise.holders.add(holder)

    def volume_written(self, name: str, version: int) -> None:
        """Note the version of a volume that names its claim."""
        promise = self._volumes.get(name)
        if promise is not None:
            promise.written = max(promise.written, version)

    def node_written(self, key: _ClaimKey, version: int) -> None:
        """Note the version of a claim that names its node."""
        promise = self._nodes.get(key)
        if promise is not None:
            promise.written = max(promise.written, version)

    def release(self, holder: str) -> None:
        """Forget what a pod relies on; what was written stands until the watch has told of it."""
        _release(self._volumes, holder)
        _release(self._nodes, holder)

    @property
    def promised_volumes(self) -> dict[str, _ClaimKey]:
        """The volumes that pods on their way rely on, and for which claims."""
        return {
            name: claim_key(promise.claim)
            for name, promise in self._volumes.items()
            if promise.holders
        }

    def _promised(self, known: PersistentVolume) -> PersistentVolume:
        name = known.metadata.name
        promise = self._volumes.get(name)
        if promise is None:
            return known
        if not promise.holds(version_of(known)):
            del self._volumes[name]
            return known
        if known.spec.claim_ref is not None and not is_reserved_for(known, promise.claim):
            return known  # somebody was faster
        spec = msgspec.structs.replace(known.spec, claim_ref=reference_to(promise.claim))
        return msgspec.structs.replace(known, spec=spec)


def claim_key(claim: PersistentVolumeClaim) -> _ClaimKey:
    """Return a claim's namespace and name."""
    return claim.metadata.namespace, claim.metadata.name


def reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    """Return what a volume says of the claim that it is for."""
    metadata = claim.metadata
    return ObjectReference(
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        api_version="v1",
        resource_version=metadata.resource_version,
    )


def version_of(item: PersistentVolume | PersistentVolumeClaim) -> int:
    """Return a resource version as a number; 0 where there is none, as in recordings."""
    text = item.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _release(promises: dict[K, P], holder: str) -> None:
    for key, promise in list(promises.items()):
        promise.holders.discard(holder)
        if not promise.holders and not promise.written:
            del promises[key]
