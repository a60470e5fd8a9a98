"""Claims as an API server has them, in virtual time: what is written, and what becomes of it.

Stands in for `ApiClient`. Nothing happens by itself: whoever drives it decides when a request
arrives, whether its answer does, and what the watch has been told.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from moorage.errors import ApiError, LostAnswerError
from moorage.model import ResourceClaim

__all__ = ["Call", "Fate", "SimulatedClaims"]


class Fate(Enum):
    """What becomes of a request."""

    ANSWERED = auto()
    LOST_ANSWER = auto()
    LOST_REQUEST = auto()
    LATE = auto()
    """The client is told that the answer is lost; the request arrives later, or never."""
    REFUSED = auto()
    OVERLOADED = auto()


class Call(NamedTuple):
    """A request that waits for its fate."""

    method: str
    path: str
    body: Any
    answer: asyncio.Future[bytes]


class SimulatedClaims:
    """Claims and bindings by name, in one namespace; `calls` wait to be settled, `late` ones to arrive."""

    metrics = None

    def __init__(self) -> None:
        self.claims: dict[str, dict[str, Any]] = {}
        self.bindings: dict[str, str] = {}
        self.calls: list[Call] = []
        self.late: list[Call] = []
        self.version = 100

    def put(self, claim: ResourceClaim) -> None:
        """Create a claim."""
        self._store(msgspec.to_builtins(claim))

    def claim(self, name: str) -> ResourceClaim | None:
        """Return a claim as it is stored."""
        item = self.claims.get(name)
        return None if item is None else msgspec.convert(item, ResourceClaim)

    async def request(self, method: str, path: str, *, body: object = None, **_: object) -> bytes:
        """Ask, as of an `ApiClient`, and wait."""
        call = Call(method, path, body, asyncio.get_running_loop().create_future())
        self.calls.append(call)
        return await call.answer

    def settle(self, index: int, fate: Fate) -> None:
        """Decide what becomes of a request."""
        call = self.calls.pop(index)
        if call.answer.done():
            return  # whoever asked has given up
        if fate is Fate.REFUSED:
            self._refuse(call, HTTPStatus.FORBIDDEN)
        elif fate is Fate.OVERLOADED:
            self._refuse(call, HTTPStatus.SERVICE_UNAVAILABLE)
        elif fate in {Fate.LOST_REQUEST, Fate.LATE}:
            if fate is Fate.LATE:
                self.late.append(call)
            call.answer.set_exception(LostAnswerError("nobody answers"))
        else:
            self._arrive(call, answered=fate is Fate.ANSWERED)

    def arrive_late(self, index: int) -> None:
        """Let a request arrive whose client has given up on it."""
        call = self.late.pop(index)
        try:
            self._apply(call)
        except ApiError:
            return  # to a version that is no more

    def free(self, name: str, *, user: str) -> None:
        """Do what the resource claim controller does when a pod has gone."""
        item = self.claims[name]
        status = item.get("status") or {}
        kept = [one for one in status.get("reservedFor", ()) if one["uid"] != user]
        if len(kept) < len(status.get("reservedFor", ())):
            self._store({**item, "status": {**status, "reservedFor": kept} if kept else {}})

    def _arrive(self, call: Call, *, answered: bool) -> None:
        try:
            answer = self._apply(call)
        except ApiError as error:
            call.answer.set_exception(error)
            return
        if answered:
            call.answer.set_result(answer)
        else:
            call.answer.set_exception(LostAnswerError("nobody answers"))

    def _apply(self, call: Call) -> bytes:
        parts = call.path.split("/")
        if "resourceclaims" not in parts:
            return self._bind(parts, call)
        name = parts[parts.index("resourceclaims") + 1]
        item = self.claims.get(name)
        if item is None:
            raise ApiError("gone", code=HTTPStatus.NOT_FOUND, reason="NotFound")
        if call.method == "PATCH":
            body = call.body
            if body["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
                raise ApiError("changed", code=HTTPStatus.CONFLICT, reason="Conflict")
            part = "status" if parts[-1] == "status" else "metadata"
            item = self._store({**item, part: _merge(item.get(part) or {}, body[part])})
        return msgspec.json.encode(item)

    def _bind(self, parts: list[str], call: Call) -> bytes:
        """Bind a pod, or say where it is; a pod's uid is its name."""
        name = parts[parts.index("pods") + 1]
        if call.method == "POST":
            if name in self.bindings:
                raise ApiError("bound", code=HTTPStatus.CONFLICT, reason="Conflict")
            self.bindings[name] = call.body["target"]["name"]
        spec = {"nodeName": self.bindings.get(name, "")}
        return msgspec.json.encode({"metadata": {"uid": name}, "spec": spec})

    def _store(self, item: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.version)}
        stored = {**item, "metadata": metadata}
        self.claims[metadata["name"]] = stored
        return stored

    def _refuse(self, call: Call, code: HTTPStatus) -> None:
        call.answer.set_exception(ApiError("refused", code=code, reason=code.phrase))


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged
