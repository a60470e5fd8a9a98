"""Lists over HTTP: pages that stay consistent, versions, selections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from moorage.embedded import EmbeddedApiServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PODS = "/api/v1/pods"


@pytest.fixture
def five_pods(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> EmbeddedApiServer:
    """Return a server with the pods ``a`` to ``e``; every other one is labelled."""
    for name in "bdace":
        server.store.create(make_pod(name, labels={"x": "y"} if name in "ace" else None))
    return server


def names(body: dict[str, Any]) -> list[str]:
    """Return the names of a list's items."""
    return [item["metadata"]["name"] for item in body["items"]]


async def test_pages_show_the_state_that_the_first_one_showed(
    five_pods: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """Objects that come and go in between do not matter."""
    _status, first = await api("GET", f"{PODS}?limit=2")
    five_pods.store.create(make_pod("cc"))
    five_pods.store.delete("pods", "d", namespace="default")
    token = quote(first["metadata"]["continue"])
    _status, second = await api("GET", f"{PODS}?limit=2&continue={token}")
    token = quote(second["metadata"]["continue"])
    _status, third = await api("GET", f"{PODS}?limit=2&continue={token}")
    assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert "continue" not in third["metadata"]
    versions = {page["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(versions) == 1


async def test_pages_of_a_selection_do_not_say_how_many_are_left(
    five_pods: EmbeddedApiServer, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """As a real server, which would have to read them all."""
    path = "/api/v1/namespaces/default/pods?limit=2&labelSelector=x"
    _status, first = await api("GET", path)
    _status, second = await api("GET", f"{path}&continue={quote(first['metadata']['continue'])}")
    assert "remainingItemCount" not in first["metadata"]
    assert names(first) + names(second) == ["a", "c", "e"]


async def test_a_list_that_nobody_paged_through_for_long_expires(
    five_pods: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """Only so many states are kept; 410 says: list anew."""
    _status, first = await api("GET", f"{PODS}?limit=2")
    for number in range(20):
        five_pods.store.create(make_pod(f"more-{number}"))
        await api("GET", f"{PODS}?limit=2")
    token = quote(first["metadata"]["continue"])
    status, body = await api("GET", f"{PODS}?limit=2&continue={token}")
    assert (status, body["reason"]) == (410, "Expired")


async def test_an_exact_version_is_served_while_it_is_the_present_state(
    five_pods: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """And is a 410 once the resource has changed."""
    version = five_pods.store.registry.version
    path = f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert (await api("GET", path))[0] == 200
    five_pods.store.create(make_pod("f"))
    assert (await api("GET", path))[0] == 410


@pytest.mark.parametrize("path", [f"{PODS}?limit=x", f"{PODS}?resourceVersion=x"])
async def test_a_number_that_is_none_is_a_bad_request(
    path: str, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """Of the query."""
    assert (await api("GET", path))[0] == 400
