"""What a server is and serves: its version, its resources."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import msgspec

from moorage.errors import ApiError

if TYPE_CHECKING:
    from moorage.api.client import ApiClient
    from moorage.api.resources import Resource

__all__ = ["ServerVersion", "list_resources", "server_version", "serves"]


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of an API server; `major` and `minor` as it writes them (``36+`` in clouds)."""

    major: str = ""
    minor: str = ""
    git_version: str = ""

    @property
    def minor_number(self) -> int:
        """The minor as a number; 0 where it is none."""
        digits = re.match(r"\d+", self.minor)
        return int(digits[0]) if digits else 0


class _ServedResource(msgspec.Struct, frozen=True):
    name: str = ""


class _ResourceList(msgspec.Struct, frozen=True):
    resources: list[_ServedResource] | None = None


async def server_version(client: ApiClient) -> ServerVersion:
    """Ask for the version of the server. Raises ApiError, UnreachableError."""
    return _decoded(await client.request("GET", "/version"), ServerVersion, "/version")


async def list_resources(client: ApiClient, group: str, version: str) -> frozenset[str]:
    """Return the plurals that are served of a group (empty: core) and version, with subresources.

    Empty where the group or the version is not served. Raises ApiError, UnreachableError.
    """
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        body = await client.request("GET", path)
    except ApiError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return frozenset()
        raise
    served = _decoded(body, _ResourceList, path)
    return frozenset(resource.name for resource in served.resources or ())


async def serves(client: ApiClient, resource: Resource) -> bool:
    """Say whether a server serves a resource in its version. Raises ApiError, UnreachableError."""
    return resource.plural in await list_resources(client, resource.group, resource.version)


T = TypeVar("T")


def _decoded(body: bytes, kind: type[T], path: str) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ApiError(
            f"{path} is not answered by an API server ({error}); check the address",
            code=HTTPStatus.OK,
        ) from error
