"""The stand-in for what becomes of nodes and of the pods on them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@pytest.fixture
async def running(clock: ManualClock) -> AsyncIterator[EmbeddedApiServer]:
    """Run a server with the stand-in."""
    async with EmbeddedApiServer(clock=clock) as server:
        yield server


async def settle() -> None:
    """Let everything run that is ready to."""
    for _ in range(10):
        await asyncio.sleep(0)


def node(name: str, **status: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a status
    """Return a node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def conditions_of(server: EmbeddedApiServer, name: str) -> dict[str, str]:
    """Return the conditions of a node by type."""
    status = server.store.get("nodes", name)["status"]
    return {one["type"]: one["status"] for one in status.get("conditions") or ()}


def pods_of(server: EmbeddedApiServer) -> list[str]:
    """Return the names of the pods that there are."""
    return [pod["metadata"]["name"] for pod in server.store.list("pods")]


async def test_a_node_without_a_ready_condition_becomes_ready(running: EmbeddedApiServer) -> None:
    """Its other conditions are kept."""
    pressure = {"type": "MemoryPressure", "status": "False"}
    running.store.create(node("n1", conditions=[pressure]))
    await settle()
    assert conditions_of(running, "n1") == {"MemoryPressure": "False", "Ready": "True"}


async def test_a_node_that_says_that_it_is_not_ready_is_left_so(running: EmbeddedApiServer) -> None:
    """Somebody meant it."""
    created = running.store.create(node("n1", conditions=[{"type": "Ready", "status": "False"}]))
    await settle()
    assert running.store.get("nodes", "n1") == created


async def test_the_pods_of_a_deleted_node_go_shortly_after(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Those on other nodes stay, also those on nodes that never were."""
    for name in ("n1", "n2"):
        running.store.create(node(name))
    for name, place in (("a", "n1"), ("b", "n2"), ("c", "never")):
        running.store.create(make_pod(name, nodeName=place))
    await settle()
    running.store.delete("nodes", "n1")
    await settle()
    assert pods_of(running) == ["a", "b", "c"]
    clock.advance(1)
    await settle()
    assert pods_of(running) == ["b", "c"]


async def test_a_pod_with_a_finalizer_is_failed(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """It waits for whoever holds it, and says why it ended."""
    running.store.create(node("n1"))
    pod = make_pod("a", nodeName="n1")
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    running.store.create(pod)
    await settle()
    running.store.delete("nodes", "n1")
    await settle()
    clock.advance(1)
    await settle()
    status = running.store.get("pods", "a", namespace="default")["status"]
    assert status["phase"] == "Failed"
    assert "DeletionByPodGC" in {one.get("reason") for one in status["conditions"]}


async def test_a_node_that_comes_back_at_once_keeps_its_pods(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """As one that is replaced does."""
    running.store.create(node("n1"))
    running.store.create(make_pod("a", nodeName="n1"))
    await settle()
    running.store.delete("nodes", "n1")
    running.store.create(node("n1"))
    await settle()
    clock.advance(5)
    await settle()
    assert pods_of(running) == ["a"]
