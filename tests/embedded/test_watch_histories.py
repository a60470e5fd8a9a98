"""Watches over HTTP: where they begin, what a selector makes of changes, how they end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


WAIT = 5.0


async def events_of(session: aiohttp.ClientSession, url: str, count: int) -> list[tuple[str, str]]:
    """Return type and name of the first `count` events of a watch."""
    async with asyncio.timeout(WAIT), session.get(url) as response:
        lines = [json.loads(await response.content.readline()) for _ in range(count)]
    return [(line["type"], line["object"]["metadata"].get("name", "")) for line in lines]


async def test_a_selector_turns_changes_into_arrivals_and_departures(
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A pod that starts to match is ADDED, one that stops is DELETED in the state that matched."""
    store = server.store
    start = store.registry.version
    store.create(make_pod("a", labels={"app": "x"}))
    store.create(make_pod("b", labels={"app": "y"}))
    store.patch("pods", "b", {"metadata": {"labels": {"app": "x"}}}, namespace="default")
    store.patch("pods", "a", {"metadata": {"labels": {"other": "z"}}}, namespace="default")
    store.patch("pods", "a", {"metadata": {"labels": {"app": "y"}}}, namespace="default")
    store.delete("pods", "b", namespace="default")
    url = f"{server.url}/api/v1/pods?watch=1&labelSelector=app=x&resourceVersion={start}"
    async with asyncio.timeout(WAIT), session.get(url) as response:
        lines = [json.loads(await response.content.readline()) for _ in range(6)]
    seen = [(line["type"], line["object"]["metadata"]["name"]) for line in lines]
    assert seen == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ]
    departed = lines[3]["object"]["metadata"]
    assert departed["labels"] == {"app": "x", "other": "z"}
    versions = [int(line["object"]["metadata"]["resourceVersion"]) for line in lines]
    assert versions == sorted(versions)


async def test_a_pod_that_is_bound_leaves_the_watch_of_unassigned_pods(
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """The field selector that a scheduler's queue could be fed by."""
    start = server.store.registry.version
    server.store.create(make_pod("a"))
    server.store.bind("a", "n1", namespace="default")
    selector = "fieldSelector=spec.nodeName%3D"
    url = f"{server.url}/api/v1/pods?watch=1&resourceVersion={start}&{selector}"
    assert await events_of(session, url, 2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_changes_are_streamed_as_they_come(
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A watch that has caught up gets the next change at once."""
    url = f"{server.url}/api/v1/namespaces/default/pods?watch=true&resourceVersion=0"
    async with asyncio.timeout(WAIT), session.get(url) as response:
        for name in ("a", "b"):
            server.store.create(make_pod(name))
            line = json.loads(await response.content.readline())
            assert (line["type"], line["object"]["metadata"]["name"]) == ("ADDED", name)


async def test_a_namespace_sees_its_own_objects_alone(
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """The path narrows a watch as a selector does."""
    start = server.store.registry.version
    server.store.create(make_pod("a"), namespace="kube-system")
    server.store.create(make_pod("b"))
    url = f"{server.url}/api/v1/namespaces/default/pods?watch=1&resourceVersion={start}"
    assert await events_of(session, url, 1) == [("ADDED", "b")]


async def test_a_version_that_the_history_has_dropped_is_expired(
    session: aiohttp.ClientSession, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """One ERROR event with a 410, and the end; a list starts anew."""
    async with EmbeddedApiServer(kubelet=False, history=8) as server:
        start = server.store.registry.version
        for number in range(20):
            server.store.create(make_pod(f"p{number}"))
        url = f"{server.url}/api/v1/pods?watch=1&resourceVersion={start}"
        async with session.get(url) as response:
            lines = [json.loads(line) async for line in response.content]
        assert response.status == 200
        assert [(line["type"], line["object"]["code"]) for line in lines] == [("ERROR", 410)]
        recent = server.store.registry.version - 5
        url = f"{server.url}/api/v1/pods?watch=1&resourceVersion={recent}"
        assert len(await events_of(session, url, 5)) == 5


async def test_a_watcher_that_falls_behind_is_told_so(
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """The history is bounded whoever is slow: a watch that it has moved past ends with a 410."""
    server = EmbeddedApiServer(kubelet=False, history=8)
    watch = server.store.watch("pods", start=server.store.registry.version)
    for number in range(20):
        server.store.create(make_pod(f"p{number}"))
    with pytest.raises(Exception, match="too old resource version") as refusal:
        watch.pending()
    assert getattr(refusal.value, "code", None) == 410


async def test_a_watch_ends_when_its_time_is_up(
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """``timeoutSeconds``, with no event in between."""
    started = time.monotonic()
    status, lines = await api("GET", "/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=99")
    assert (status, lines) == (200, [])
    assert 0.9 < time.monotonic() - started < WAIT


async def test_open_watches_do_not_hold_up_the_end_of_the_server(
    session: aiohttp.ClientSession,
) -> None:
    """Leaving the server ends its watches cleanly and quickly."""
    async with EmbeddedApiServer(clock=ManualClock()) as server:
        paths = ("pods", "nodes", "namespaces")
        watches = [await session.get(f"{server.url}/api/v1/{path}?watch=1") for path in paths]
        started = time.monotonic()
    assert time.monotonic() - started < 1.0
    for watch in watches:
        assert (await watch.read()).count(b"\n") == (4 if watch.url.name == "namespaces" else 0)


async def test_a_quiet_watch_gets_bookmarks(session: aiohttp.ClientSession) -> None:
    """So that its version does not fall behind the history while others change."""
    async with EmbeddedApiServer(kubelet=False, bookmark_seconds=0.01) as server:
        start = server.store.registry.version
        query = f"watch=1&allowWatchBookmarks=true&resourceVersion={start}"
        server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        async with session.get(f"{server.url}/api/v1/pods?{query}") as response:
            line = json.loads(await response.content.readline())
    assert line["type"] == "BOOKMARK"
    assert line["object"]["metadata"] == {"resourceVersion": str(start + 1)}


async def test_a_watch_of_tables_prints_rows(
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """As ``kubectl get --watch`` asks."""
    server.store.create(make_pod("a"))
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
    url = f"{server.url}/api/v1/pods?watch=1"
    async with session.get(url, headers=headers) as response:
        line = json.loads(await response.content.readline())
    assert line["object"]["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]
