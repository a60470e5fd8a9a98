"""The Lease that leaders hold: read, made, renewed, given back; as kube-scheduler writes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from moorage.api.client import ApiClient
from moorage.api.resources import LEASES
from moorage.errors import ApiError

__all__ = ["LeaseLock", "LeaseSpec", "ObservedLease", "wall_clock"]


def wall_clock() -> datetime:
    """Return the time of day, which only people read off a Lease."""
    return datetime.now(UTC)


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a Lease says; times are RFC 3339 texts with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class ObservedLease(msgspec.Struct, frozen=True):
    """A Lease as the API server holds it; `metadata` is what a write has to bring along."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()

    @property
    def holder(self) -> str:
        """Who holds it; empty: nobody."""
        return self.spec.holder_identity or ""


class LeaseLock:
    """One Lease by name; `timeout` is how long the server may take, in seconds.

    Its methods raise ApiError (409: somebody else was faster) and UnreachableError.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        namespace: str,
        name: str,
        timeout: float,
        wall: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.namespace = namespace
        self.name = name
        self._client = client
        self._timeout = timeout
        self._wall = wall

    def now(self) -> str:
        """Return the time of day as Leases have it."""
        return f"{self._wall():%Y-%m-%dT%H:%M:%S.%fZ}"

    async def read(self) -> ObservedLease | None:
        """Return the Lease; None: there is none."""
        try:
            return await self._request("GET", LEASES.path(self.namespace, self.name))
        except ApiError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def create(self, spec: LeaseSpec) -> ObservedLease:
        """Make the Lease."""
        metadata = {"name": self.name, "namespace": self.namespace}
        path = LEASES.path(self.namespace)
        return await self._request("POST", path, body=self._body(metadata, spec))

    async def update(self, known: ObservedLease, spec: LeaseSpec) -> ObservedLease:
        """Replace what a Lease says, if it is still the version that is known."""
        metadata = {key: value for key, value in known.metadata.items() if key != "managedFields"}
        path = LEASES.path(self.namespace, self.name)
        return await self._request("PUT", path, body=self._body(metadata, spec))

    def _body(self, metadata: dict[str, Any], spec: LeaseSpec) -> dict[str, Any]:
        return {
            "kind": LEASES.kind,
            "apiVersion": LEASES.api_version,
            "metadata": metadata,
            "spec": msgspec.to_builtins(spec),
        }

    async def _request(
        self, method: str, path: str, *, body: dict[str, Any] | None = None
    ) -> ObservedLease:
        answer = await self._client.request(
            method,
            path,
            params={"timeout": f"{self._timeout:g}s"},
            body=body,
            timeout=self._timeout,
        )
        return msgspec.json.decode(answer, type=ObservedLease)
