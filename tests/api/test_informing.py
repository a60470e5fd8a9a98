"""What a server says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.api.informing import ServerVersion, list_resources, server_version, serves
from moorage.api.resources import DEVICE_CLASSES, EVENTS, PODS
from moorage.errors import ApiError

if TYPE_CHECKING:
    from tests.api.conftest import FakeServer

    from moorage.api.client import ApiClient


async def test_recorded_version(
    server: FakeServer, client: ApiClient, answers: dict[str, dict[str, Any]]
) -> None:
    """Major, minor and git version of a recorded server."""
    server.on("GET", "/version", server.json(answers["/version"]["response"]))
    version = await server_version(client)
    assert version == ServerVersion("1", "36", "v1.36.2")
    assert version.minor_number == 36


@pytest.mark.parametrize(("minor", "number"), [("36+", 36), ("", 0), ("x", 0)])
def test_minor_of_clouds(minor: str, number: int) -> None:
    """Cloud providers add a plus; nonsense is no version."""
    assert ServerVersion("1", minor).minor_number == number


async def test_recorded_resources(
    server: FakeServer, client: ApiClient, answers: dict[str, dict[str, Any]]
) -> None:
    """What a group serves, and what it does not."""
    for path in ("/apis/events.k8s.io/v1", "/api/v1"):
        server.on("GET", path, server.json(answers[path]["response"]))
    assert await list_resources(client, "events.k8s.io", "v1") == {"events"}
    assert {"pods", "pods/binding", "nodes"} <= await list_resources(client, "", "v1")
    assert await serves(client, EVENTS)
    assert await serves(client, PODS)
    assert not await serves(client, DEVICE_CLASSES)


async def test_other_refusals_are_raised(server: FakeServer, client: ApiClient) -> None:
    """Only a 404 says that something is not served."""
    server.on("GET", "/api/v1", server.refuse(403, "Forbidden"))
    with pytest.raises(ApiError):
        await serves(client, PODS)


async def test_what_is_no_api_server(server: FakeServer, client: ApiClient) -> None:
    """Any web server may answer 200; it is not taken for one that serves nothing."""
    server.on("GET", "/version", server.json("<html>"))
    with pytest.raises(ApiError, match="/version is not answered by an API server"):
        await server_version(client)
