"""Who is given which volume, and when: each object that comes or goes, and the writes it brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from moorage.volume_controller.objects import (
    BIND_COMPLETED,
    Get,
    Key,
    Object,
    annotated,
    annotations_of,
    bound_claim,
    bound_volume,
    class_of,
    is_for,
    key_of,
    phase_of,
    with_phase,
)
from moorage.volume_controller.provisioning import (
    SELECTED_NODE,
    made_volume,
    provisioner_of,
    volume_name,
)
from moorage.volume_controller.volumes import Volumes

__all__ = ["VolumeController", "Write", "WriteKind"]

_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


class WriteKind(StrEnum):
    """What is to be done with an object."""

    CREATE = "create"
    REPLACE = "replace"
    """The whole of it, status included."""
    DELETE = "delete"


class Write(NamedTuple):
    """One thing to be done; the object is the caller's."""

    kind: WriteKind
    object: Object


class VolumeController:
    """Follows volumes, claims and classes; yields writes, to be done before the next is taken.

    `get` must tell what was written already. What comes of a write is to be told through `put` too,
    now or later: what is done already is seen and left alone.
    """

    def __init__(self, get: Get) -> None:
        self._get = get
        self._pending: dict[Key, None] = {}
        self._classes: dict[str, None] = {}
        self._volumes = Volumes(get)

    def put(self, item: Mapping[str, Any]) -> Iterator[Write]:
        """Take in an object that is new, or a newer version of one."""
        match item["kind"]:
            case "PersistentVolume":
                yield from self._put_volume(item["metadata"]["name"])
            case "PersistentVolumeClaim":
                yield from self._put_claim(key_of(item))
            case "StorageClass":
                self._classes[item["metadata"]["name"]] = None
                yield from self._try_pending()

    def drop(self, item: Mapping[str, Any]) -> Iterator[Write]:
        """Take in that an object is gone."""
        match item["kind"]:
            case "PersistentVolume":
                name = item["metadata"]["name"]
                self._volumes.drop(name)
                reference = item["spec"].get("claimRef") or {}
                claim = self._claim((reference.get("namespace", ""), reference.get("name", "")))
                if claim is not None and claim["spec"].get("volumeName") == name:
                    yield _in_phase(claim, "Lost")
            case "PersistentVolumeClaim":
                self._pending.pop(key_of(item), None)
                for volume in self._volumes.naming(key_of(item)):
                    yield from self._release(volume)
            case "StorageClass":
                self._classes.pop(item["metadata"]["name"], None)

    # Volumes

    def _put_volume(self, name: str) -> Iterator[Write]:
        volume = self._volumes.get(name)
        if volume is None or volume["metadata"].get("deletionTimestamp"):
            return
        self._volumes.put(volume)
        reference = volume["spec"].get("claimRef")
        if reference is None:
            yield from self._offer(volume)
            yield from self._try_pending()
            return
        claim = self._claim((reference.get("namespace", ""), reference["name"]))
        if claim is not None and is_for(reference, claim):
            yield from self._put_claim(key_of(claim))
            yield from self._offer(self._volumes.get(name) or volume)
        else:
            yield from self._release(volume)
            yield from self._offer(volume)

    @staticmethod
    def _offer(volume: Object) -> Iterator[Write]:
        """Say of a volume that is new that it can be had."""
        if phase_of(volume) in {"", "Pending"}:
            yield _in_phase(volume, "Available")

    @staticmethod
    def _release(volume: Object) -> Iterator[Write]:
        """Do with a volume whose claim is gone as its policy says."""
        if phase_of(volume) != "Bound":
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            yield Write(WriteKind.DELETE, volume)
        else:
            yield _in_phase(volume, "Released")

    # Claims

    def _claim(self, key: Key) -> Object | None:
        return self._get("PersistentVolumeClaim", *key)

    def _try_pending(self) -> Iterator[Write]:
        for key in tuple(self._pending):
            yield from self._put_claim(key)

    def _put_claim(self, key: Key) -> Iterator[Write]:
        claim = self._claim(key)
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            self._pending.pop(key, None)
            return
        named = claim["spec"].get("volumeName")
        if named and BIND_COMPLETED in annotations_of(claim):
            self._pending.pop(key, None)
            if self._volumes.get(named) is None and phase_of(claim) != "Lost":
                yield _in_phase(claim, "Lost")
            return
        self._pending[key] = None
        yield from self._give_class(claim)
        claim = self._claim(key) or claim
        volume = self._volume_for(claim)
        if volume is not None:
            yield from self._bind(volume, claim)
        elif not claim["spec"].get("volumeName"):
            yield from self._provision(claim)

    def _give_class(self, claim: Object) -> Iterator[Write]:
        """Put a claim that names no class into the default one, where there is one."""
        if claim["spec"].get("storageClassName") is not None or claim["spec"].get("volumeName"):
            return
        name = self._default_class()
        if name:
            spec = {**claim["spec"], "storageClassName": name}
            yield Write(WriteKind.REPLACE, {**claim, "spec": spec})

    def _default_class(self) -> str:
        """Return the name of the default class: of several the newest, then the first by name."""
        found = [
            one["metadata"]
            for name in sorted(self._classes)
            if (one := self._class(name)) is not None
            and any(annotations_of(one).get(key) == "true" for key in _DEFAULT_CLASS)
        ]
        # Of equals, `max` takes the first.
        newest = max(found, key=lambda one: one.get("creationTimestamp") or "", default=None)
        return "" if newest is None else newest["name"]

    def _class(self, name: str) -> Object | None:
        return self._get("StorageClass", "", name) if name else None

    def _volume_for(self, claim: Object) -> Object | None:
        """Find a volume that is there already."""
        if claim["spec"].get("volumeName"):
            return self._volumes.named_by(claim)
        volume = self._volumes.reserved_for(claim)
        if volume is None and not self._waits(claim):
            volume = self._volumes.smallest_for(claim)
        return volume

    def _waits(self, claim: Object) -> bool:
        found = self._class(class_of(claim))
        return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _bind(self, volume: Object, claim: Object) -> Iterator[Write]:
        """Make volume and claim name each other; the claim comes last: then it is done."""
        bound = bound_volume(volume, claim)
        self._volumes.put(bound)
        if bound != volume:
            yield Write(WriteKind.REPLACE, bound)
        self._pending.pop(key_of(claim), None)
        yield Write(WriteKind.REPLACE, bound_claim(claim, volume))

    def _provision(self, claim: Object) -> Iterator[Write]:
        """Make a volume for a claim, where somebody would; the claim is bound when it is told of."""
        found = self._class(class_of(claim))
        provisioner = provisioner_of(found)
        if found is None or not provisioner:
            return
        annotations = annotations_of(claim)
        if SELECTED_NODE not in annotations and self._waits(claim):
            return
        if annotations.get(_PROVISIONER) != provisioner:
            yield Write(WriteKind.REPLACE, annotated(claim, {_PROVISIONER: provisioner}))
        if self._volumes.get(volume_name(claim)) is None:
            yield Write(WriteKind.CREATE, made_volume(claim, found, get=self._get))


def _in_phase(item: Object, phase: str) -> Write:
    return Write(WriteKind.REPLACE, with_phase(item, phase))
