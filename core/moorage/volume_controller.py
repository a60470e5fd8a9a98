"""What Kubernetes' volume controller and a CSI provisioner would do next: objects in, writes out.

A stand-in, for clusters that are not there: the embedded API server, and recordings in which the real
ones had a hand. Objects are plain dictionaries in the API's spelling. No I/O, no clock.

::

    volume:  (new) -> Available --a claim takes it--> Bound --claim deleted--> Released, or deleted
    claim:   Pending --matched, or a volume was made for it--> Bound --volume deleted--> Lost

A claim is given, in this order: the volume that it names; one that names it; where its class binds at
once, the smallest that fits; a new one, where its class has a provisioner, once a node is selected if
the class waits for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import msgspec

from moorage.model.meta import LabelSelector
from moorage.model.quantities import InvalidQuantityError, parse_value
from moorage.model.selectors import InvalidSelectorError, selector_of

__all__ = ["VolumeController", "Write", "WriteKind"]

_Object: TypeAlias = dict[str, Any]
_Key: TypeAlias = tuple[str, str]

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_BY_NOBODY = frozenset({"", "kubernetes.io/no-provisioner"})

Get: TypeAlias = Callable[[str, str, str], _Object | None]
"""Finds an object as it is now by kind, namespace (empty where it has none) and name."""


class WriteKind(StrEnum):
    """What is to be done with an object."""

    CREATE = "create"
    REPLACE = "replace"
    """The whole of it, status included."""
    DELETE = "delete"


class Write(NamedTuple):
    """One thing to be done; the object is the caller's."""

    kind: WriteKind
    object: _Object


class VolumeController:
    """Follows volumes, claims and classes; yields writes, to be done before the next is taken.

    `get` must tell what was written already. What comes of a write is to be told through `put` too,
    now or later: what is done already is seen and left alone.
    """

    def __init__(self, get: Get) -> None:
        self._get = get
        self._pending: dict[_Key, None] = {}
        self._classes: dict[str, None] = {}
        self._free: dict[str, dict[str, None]] = {}
        self._class_of: dict[str, str] = {}
        self._reserved: dict[_Key, dict[str, None]] = {}
        self._wanted: dict[str, _Key] = {}

    def put(self, item: Mapping[str, Any]) -> Iterator[Write]:
        """Take in an object that is new, or a newer version of one."""
        match item["kind"]:
            case "PersistentVolume":
                yield from self._put_volume(item)
            case "PersistentVolumeClaim":
                yield from self._put_claim(_key(item))
            case "StorageClass":
                self._classes[item["metadata"]["name"]] = None
                yield from self._try_pending()

    def drop(self, item: Mapping[str, Any]) -> Iterator[Write]:
        """Take in that an object is gone."""
        match item["kind"]:
            case "PersistentVolume":
                name = item["metadata"]["name"]
                self._forget_volume(name)
                reference = item["spec"].get("claimRef") or {}
                claim = self._claim((reference.get("namespace", ""), reference.get("name", "")))
                if claim is not None and claim["spec"].get("volumeName") == name:
                    yield _with_phase(claim, "Lost")
            case "PersistentVolumeClaim":
                self._pending.pop(_key(item), None)
                for name in tuple(self._reserved.get(_key(item), ())):
                    volume = self._get("PersistentVolume", "", name)
                    if volume is not None:
                        yield from self._release(volume)
            case "StorageClass":
                self._classes.pop(item["metadata"]["name"], None)

    # Volumes

    def _put_volume(self, item: Mapping[str, Any]) -> Iterator[Write]:
        name = item["metadata"]["name"]
        volume = self._get("PersistentVolume", "", name)
        if volume is None or volume["metadata"].get("deletionTimestamp"):
            return
        self._note_volume(name, volume)
        reference = volume["spec"].get("claimRef")
        phase = (volume.get("status") or {}).get("phase")
        if reference is None:
            if phase in {None, "", "Pending"}:
                yield _with_phase(volume, "Available")
            yield from self._try_pending()
            return
        claim = self._claim((reference.get("namespace", ""), reference["name"]))
        if claim is not None and _is_for(reference, claim):
            yield from self._put_claim(_key(claim))
            volume = self._get("PersistentVolume", "", name) or volume
            phase = (volume.get("status") or {}).get("phase")
        elif phase == "Bound":
            yield from self._release(volume)
        if phase in {None, "", "Pending"}:
            yield _with_phase(volume, "Available")

    def _note_volume(self, name: str, volume: _Object) -> None:
        self._forget_volume(name)
        spec = volume["spec"]
        reference = spec.get("claimRef")
        if reference is None:
            self._class_of[name] = found = spec.get("storageClassName") or ""
            self._free.setdefault(found, {})[name] = None
        else:
            self._wanted[name] = key = (reference.get("namespace", ""), reference["name"])
            self._reserved.setdefault(key, {})[name] = None

    def _forget_volume(self, name: str) -> None:
        found = self._class_of.pop(name, None)
        if found is not None:
            del self._free[found][name]
        key = self._wanted.pop(name, None)
        if key is not None:
            del self._reserved[key][name]
            if not self._reserved[key]:
                del self._reserved[key]

    @staticmethod
    def _release(volume: _Object) -> Iterator[Write]:
        """Do with a volume whose claim is gone as its policy says."""
        status = volume.get("status") or {}
        if status.get("phase") != "Bound":
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            yield Write(WriteKind.DELETE, volume)
        else:
            yield _with_phase(volume, "Released")

    # Claims

    def _claim(self, key: _Key) -> _Object | None:
        return self._get("PersistentVolumeClaim", *key)

    def _try_pending(self) -> Iterator[Write]:
        for key in tuple(self._pending):
            yield from self._put_claim(key)

    def _put_claim(self, key: _Key) -> Iterator[Write]:
        claim = self._claim(key)
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            self._pending.pop(key, None)
            return
        if claim["spec"].get("volumeName") and _BIND_COMPLETED in _annotations(claim):
            self._pending.pop(key, None)
            if self._get("PersistentVolume", "", claim["spec"]["volumeName"]) is None:
                yield from _unless_there(claim, "Lost")
            return
        self._pending[key] = None
        yield from self._give_class(claim)
        claim = self._claim(key) or claim
        volume = self._volume_for(claim)
        if volume is not None:
            yield from self._bind(volume, claim)
        elif not claim["spec"].get("volumeName"):
            yield from self._provision(claim)

    def _give_class(self, claim: _Object) -> Iterator[Write]:
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
            and any(_annotations(one).get(key) == "true" for key in _DEFAULT_CLASS)
        ]
        newest = max((one.get("creationTimestamp") or "" for one in found), default="")
        names = (one["name"] for one in found if (one.get("creationTimestamp") or "") == newest)
        return next(names, "")

    def _class(self, name: str) -> _Object | None:
        return self._get("StorageClass", "", name) if name else None

    def _volume_for(self, claim: _Object) -> _Object | None:
        """Find a volume that is there already."""
        named = claim["spec"].get("volumeName")
        if named:
            volume = self._get("PersistentVolume", "", named)
            if volume is None:
                return None
            reference = volume["spec"].get("claimRef")
            if reference is not None:
                return volume if _is_for(reference, claim) else None
            return volume if _suits(volume, claim) and _same_class(volume, claim) else None
        for name in self._reserved.get(_key(claim), ()):
            volume = self._get("PersistentVolume", "", name)
            if (
                volume is not None
                and _is_for(volume["spec"]["claimRef"], claim)
                and _suits(volume, claim)
            ):
                return volume
        return None if self._waits(claim) else self._smallest(claim)

    def _waits(self, claim: _Object) -> bool:
        found = self._class(claim["spec"].get("storageClassName") or "")
        return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _smallest(self, claim: _Object) -> _Object | None:
        """Return the smallest that fits, of those that can be used in the fewest modes."""
        found = []
        for name in self._free.get(claim["spec"].get("storageClassName") or "", ()):
            volume = self._get("PersistentVolume", "", name)
            if volume is not None and _fits(volume, claim):
                modes = len(set(volume["spec"].get("accessModes") or ()))
                found.append((modes, _size(volume["spec"].get("capacity")), name, volume))
        return min(found, key=lambda one: one[:3])[3] if found else None

    def _bind(self, volume: _Object, claim: _Object) -> Iterator[Write]:
        """Make volume and claim name each other; the claim comes last: then it is done."""
        claimed = _claimed(volume, claim)
        self._note_volume(volume["metadata"]["name"], claimed)
        if claimed != volume:
            yield Write(WriteKind.REPLACE, claimed)
        by_controller = not claim["spec"].get("volumeName")
        annotations = {**_annotations(claim), _BIND_COMPLETED: "yes"}
        if by_controller:
            annotations[_BOUND_BY_CONTROLLER] = "yes"
        self._pending.pop(_key(claim), None)
        yield Write(
            WriteKind.REPLACE,
            {
                **claim,
                "metadata": {**claim["metadata"], "annotations": annotations},
                "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]},
                "status": {
                    "phase": "Bound",
                    "accessModes": volume["spec"].get("accessModes") or [],
                    "capacity": volume["spec"].get("capacity") or {},
                },
            },
        )

    def _provision(self, claim: _Object) -> Iterator[Write]:
        """Make a volume for a claim, where somebody would; the claim is bound when it is told of."""
        name = claim["spec"].get("storageClassName") or ""
        found = self._class(name)
        provisioner = "" if found is None else found.get("provisioner", "")
        if found is None or provisioner in _BY_NOBODY:
            return
        node = _annotations(claim).get(_SELECTED_NODE)
        if node is None and self._waits(claim):
            return
        if _annotations(claim).get(_PROVISIONER) != provisioner:
            annotations = {**_annotations(claim), _PROVISIONER: provisioner}
            metadata = {**claim["metadata"], "annotations": annotations}
            yield Write(WriteKind.REPLACE, {**claim, "metadata": metadata})
        volume_name = f"pvc-{claim['metadata']['uid']}"
        if self._get("PersistentVolume", "", volume_name) is not None:
            return
        affinity = None if node is None else self._affinity(node, provisioner)
        spec = {
            "capacity": {"storage": _requests(claim).get("storage", "0")},
            "accessModes": claim["spec"].get("accessModes") or ["ReadWriteOnce"],
            "csi": {"driver": provisioner, "volumeHandle": volume_name},
            "claimRef": _reference(claim),
            "persistentVolumeReclaimPolicy": found.get("reclaimPolicy") or "Delete",
            "storageClassName": name,
            "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
            **({} if affinity is None else {"nodeAffinity": {"required": affinity}}),
        }
        yield Write(
            WriteKind.CREATE,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume_name, "annotations": {_PROVISIONED_BY: provisioner}},
                "spec": spec,
            },
        )

    def _affinity(self, node_name: str, driver: str) -> _Object | None:
        """Return from where a volume made for a node is reached: its topology, as the driver has it."""
        node = self._get("Node", "", node_name)
        said = self._get("CSINode", "", node_name)
        if node is None or said is None:
            return None
        labels = node["metadata"].get("labels") or {}
        keys = [
            key
            for one in said["spec"].get("drivers") or ()
            if one["name"] == driver
            for key in one.get("topologyKeys") or ()
            if key in labels
        ]
        if not keys:
            return None
        needed = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]
        return {"nodeSelectorTerms": [{"matchExpressions": needed}]}


def _key(item: Mapping[str, Any]) -> _Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _annotations(item: Mapping[str, Any]) -> dict[str, str]:
    return item["metadata"].get("annotations") or {}


def _requests(claim: _Object) -> dict[str, str]:
    return (claim["spec"].get("resources") or {}).get("requests") or {}


def _size(amounts: Mapping[str, Any] | None) -> int:
    try:
        return parse_value(str((amounts or {}).get("storage", "0")))
    except InvalidQuantityError:
        return 0


def _is_for(reference: Mapping[str, Any], claim: _Object) -> bool:
    """Say whether a volume's reference means a claim; one of its user has no uid."""
    own = claim["metadata"]
    return (
        reference.get("namespace", "") == own.get("namespace", "")
        and reference["name"] == own["name"]
        and reference.get("uid") in {None, "", own.get("uid")}
    )


def _reference(claim: _Object) -> _Object:
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _claimed(volume: _Object, claim: _Object) -> _Object:
    """Return a volume that is bound to a claim; as it is, where it is that already."""
    reference = volume["spec"].get("claimRef")
    changed = {**volume, "status": {**(volume.get("status") or {}), "phase": "Bound"}}
    if reference is None or not reference.get("uid"):
        changed["spec"] = {**volume["spec"], "claimRef": _reference(claim)}
    if reference is None:
        annotations = {**_annotations(volume), _BOUND_BY_CONTROLLER: "yes"}
        changed["metadata"] = {**volume["metadata"], "annotations": annotations}
    return changed


def _with_phase(item: _Object, phase: str) -> Write:
    return Write(
        WriteKind.REPLACE, {**item, "status": {**(item.get("status") or {}), "phase": phase}}
    )


def _unless_there(item: _Object, phase: str) -> Iterator[Write]:
    if (item.get("status") or {}).get("phase") != phase:
        yield _with_phase(item, phase)


def _fits(volume: _Object, claim: _Object) -> bool:
    """Say whether a volume that nobody has reserved would do for a claim of its class."""
    selector = claim["spec"].get("selector")
    if selector is not None:
        try:
            compiled = selector_of(msgspec.convert(selector, LabelSelector))
        except (InvalidSelectorError, msgspec.ValidationError):
            return False
        if not compiled.matches(volume["metadata"].get("labels") or {}):
            return False
    return (volume.get("status") or {}).get("phase") == "Available" and _suits(volume, claim)


def _suits(volume: _Object, claim: _Object) -> bool:
    """Say whether a volume has what a claim asks for; not, whether it is free."""
    spec, wanted = volume["spec"], claim["spec"]
    attributes = "volumeAttributesClassName"
    return (
        not volume["metadata"].get("deletionTimestamp")
        and _size(spec.get("capacity")) >= _size(_requests(claim))
        and (spec.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
        and (spec.get(attributes) or "") == (wanted.get(attributes) or "")
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    )


def _same_class(volume: _Object, claim: _Object) -> bool:
    name = "storageClassName"
    return (volume["spec"].get(name) or "") == (claim["spec"].get(name) or "")
