"""Volumes and claims as an API server has them, in virtual time: what is written, what watches tell.

Nothing happens by itself: whoever drives it decides when a write arrives and what becomes of it, what
each watch has been told, and when the volume controller acts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec

from moorage.api.watching import Replace
from moorage.errors import ApiError, LostAnswerError
from moorage.model import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.volume_controller import VolumeController, Write, WriteKind

__all__ = ["ANSWERED", "LOST_AFTER", "LOST_BEFORE", "REFUSED", "Call", "SimulatedStorage"]

ANSWERED, LOST_AFTER, LOST_BEFORE, REFUSED = range(4)

Stored: TypeAlias = PersistentVolume | PersistentVolumeClaim | StorageClass
_KINDS: dict[str, type[Stored]] = {
    "PersistentVolume": PersistentVolume,
    "PersistentVolumeClaim": PersistentVolumeClaim,
    "StorageClass": StorageClass,
}
_PLURALS = {
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}
_Key: TypeAlias = tuple[str, str, str]


class Call(NamedTuple):
    """A request that waits for its fate."""

    method: str
    path: str
    body: Any
    answer: asyncio.Future[bytes]


class SimulatedStorage:
    """Objects by kind, namespace and name; `calls` wait to be settled. Stands in for `ApiClient`.

    A call to bind a pod (POST) is settled like the others, and changes nothing here.
    """

    metrics = None

    def __init__(self) -> None:
        self.objects: dict[_Key, dict[str, Any]] = {}
        self.calls: list[Call] = []
        self.version = 100
        self.controller = VolumeController(self._get)

    async def request(self, method: str, path: str, *, body: object = None, **_: object) -> bytes:
        """Ask, as of an `ApiClient`, and wait."""
        call = Call(method, path, body, asyncio.get_running_loop().create_future())
        self.calls.append(call)
        return await call.answer

    def settle(self, index: int, fate: int) -> None:
        """Decide what becomes of a call."""
        call = self.calls.pop(index)
        if call.answer.done():
            return  # whoever asked has given up
        try:
            answer = b"{}" if fate in {LOST_BEFORE, REFUSED} else self._apply(call)
        except ApiError as error:
            call.answer.set_exception(error)
            return
        if fate == REFUSED:
            call.answer.set_exception(ApiError("overloaded", code=503, reason="Unavailable"))
        elif fate == ANSWERED:
            call.answer.set_result(answer)
        else:
            call.answer.set_exception(LostAnswerError("the connection broke"))

    def put(self, item: Stored) -> None:
        """Write an object as it stands."""
        kind = type(item).__name__
        self._store({**msgspec.to_builtins(item), "kind": kind})

    def change(self, kind: str, name: str, **parts: Any) -> None:  # noqa: ANN401 - JSON
        """Replace parts of an object: ``metadata``, ``spec``."""
        key = self._key_of(kind, name)
        item = self.objects[key]
        self._store({**item, **{part: {**item[part], **value} for part, value in parts.items()}})

    def drop(self, kind: str, name: str) -> None:
        """Delete an object; the controller hears of it."""
        self._run(self.controller.drop(self.objects.pop(self._key_of(kind, name))))

    def all(self, kind: str) -> list[Any]:
        """Return the objects of a kind as records."""
        return [
            msgspec.convert(item, _KINDS[kind])
            for (of, _, _), item in self.objects.items()
            if of == kind
        ]

    def listed(self, kind: str) -> Replace[Any]:
        """Return the batch of a new list."""
        return Replace(self.all(kind), str(self.version))

    def control(self, key: _Key) -> None:
        """Let the volume controller act on one object."""
        if key in self.objects:
            self._run(self.controller.put({**self.objects[key], "kind": key[0]}))

    def _run(self, writes: Iterator[Write]) -> None:
        for write in writes:
            if write.kind is WriteKind.DELETE:
                metadata = write.object["metadata"]
                key = (write.object["kind"], metadata.get("namespace", ""), metadata["name"])
                self.objects.pop(key, None)
            else:
                self._store(write.object)

    def _get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        item = self.objects.get((kind, namespace, name))
        return None if item is None else msgspec.to_builtins(item)

    def _store(self, item: dict[str, Any]) -> None:
        self.version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.version)}
        key = (item["kind"], metadata.get("namespace", ""), metadata["name"])
        self.objects[key] = {**item, "metadata": metadata, "spec": item.get("spec", {})}

    def _key_of(self, kind: str, name: str) -> _Key:
        return next(key for key in self.objects if key[0] == kind and key[2] == name)

    def _apply(self, call: Call) -> bytes:
        if call.method == "POST":
            return b"{}"
        *_, plural, name = call.path.split("/")
        kind = _PLURALS[plural]
        key = next((one for one in self.objects if one[0] == kind and one[2] == name), None)
        if key is None:
            raise ApiError("gone", code=HTTPStatus.NOT_FOUND, reason="NotFound")
        item = self.objects[key]
        if call.body["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            raise ApiError("changed", code=HTTPStatus.CONFLICT, reason="Conflict")
        metadata = dict(item["metadata"])
        annotations = call.body["metadata"].get("annotations", {})
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
        spec = {**item["spec"], **call.body.get("spec", {})}
        self._store({**item, "metadata": metadata, "spec": spec})
        return msgspec.json.encode(self.objects[key])
