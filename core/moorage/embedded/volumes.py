"""A stand-in for the volume controller and CSI provisioners: unbound claims end bound.

In: what `moorage.volume_controller` says, done at once, and claims of pods' ephemeral volumes. Out:
attaching volumes to nodes, what room is left on them, anything that takes time.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from moorage.embedded.clock import timestamp
from moorage.embedded.ephemeral_claims import claims_for, is_owned_by
from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError
from moorage.embedded.tasks import Tasks
from moorage.volume_controller import VolumeController, Write, WriteKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.embedded.resources import Resource
    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store

__all__ = ["VolumeStandIn"]

_log = logging.getLogger(__name__)

_CONTROLLED = ("storageclasses.storage.k8s.io", "persistentvolumes", "persistentvolumeclaims")
_PLURALS = {
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses.storage.k8s.io",
    "CSINode": "csinodes.storage.k8s.io",
    "Node": "nodes",
}
_EPHEMERAL = b'"ephemeral"'


class VolumeStandIn:
    """Follows volumes, claims, classes and pods of a store, and does what their controllers would."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = store.registry
        self._controller = VolumeController(self._get)
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin on the running event loop, with what is there already."""
        for plural in (*_CONTROLLED, "pods"):
            self._tasks.begin(self._follow(plural))

    async def stop(self) -> None:
        """Stop; everything stays as it is."""
        await self._tasks.stop()

    async def _follow(self, plural: str) -> None:
        resource = self._registry.catalogue.named(plural)
        while True:
            # Starting anew is right at any time: what has been done already is seen and left alone.
            watch = self._store.watch(plural, start=self._registry.version)
            for version in self._registry.shelf(resource).versions():
                self._take(resource, version, gone=False)
            try:
                async for events in watch.batches():
                    for event in events:
                        self._take(resource, event.version, gone=event.type == "DELETED")
            except StatusError as error:
                _log.info("the volume stand-in fell behind and starts anew: %s", error)

    def _take(self, resource: Resource, version: Version, *, gone: bool) -> None:
        if resource.plural == "pods":
            # Nearly all pods have none: they are not worth being decoded.
            if _EPHEMERAL in version.item:
                self._take_pod(version.as_dict(resource), gone=gone)
            return
        item = version.as_dict(resource)
        self._do(self._controller.drop(item) if gone else self._controller.put(item))

    def _take_pod(self, pod: dict[str, Any], *, gone: bool) -> None:
        for claim in claims_for(pod):
            metadata = claim["metadata"]
            known = self._get(claim["kind"], metadata["namespace"], metadata["name"])
            if gone and known is not None and is_owned_by(known, pod):
                self._do([Write(WriteKind.DELETE, known)])
            elif not gone and known is None and not pod["metadata"].get("deletionTimestamp"):
                self._do([Write(WriteKind.CREATE, claim)])

    def _get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        resource = self._registry.catalogue.named(_PLURALS[kind])
        version = self._registry.shelf(resource).get(Key(namespace, name))
        return None if version is None else version.as_dict(resource)

    def _do(self, writes: Iterable[Write]) -> None:
        for kind, item in writes:
            resource = self._registry.catalogue.named(_PLURALS[item["kind"]])
            key = Key(item["metadata"].get("namespace", ""), item["metadata"]["name"])
            try:
                self._write(resource, key, kind, item)
            except StatusError as error:
                _log.warning("the volume stand-in cannot %s %s: %s", kind, key.name, error)

    def _write(self, resource: Resource, key: Key, kind: WriteKind, item: dict[str, Any]) -> None:
        if kind is WriteKind.CREATE:
            self._registry.create(resource, item, namespace=key.namespace)
        elif kind is WriteKind.DELETE:
            self._registry.delete(resource, key)
        else:
            if resource.plural == "persistentvolumes":
                moment = timestamp(self._registry.clock.now())
                item = {**item, "status": {**item["status"], "lastPhaseTransitionTime": moment}}
            self._registry.put(resource, key, item)
