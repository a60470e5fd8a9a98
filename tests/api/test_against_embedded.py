"""The client end to end, against Moorage's own API server over real HTTP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.informing import server_version, serves
from moorage.api.recording import EventRecorder, Reference
from moorage.api.resources import NODES, PODS
from moorage.api.watching import Changes, Reflector, Replace
from moorage.api.writing import Condition, bind, delete_pod, patch_pod_status, pod_status_patch
from moorage.embedded import EmbeddedApiServer
from moorage.errors import ApiError
from moorage.model.pods import Pod

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from moorage.api.watching import Batch


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ApiClient]:
    """Give a client of an embedded server that asks for a token, by way of its kubeconfig."""
    async with EmbeddedApiServer(token="secret", kubelet=False) as server:  # noqa: S106 - a test's
        path = tmp_path / "kubeconfig"
        path.write_text(server.kubeconfig())
        async with ApiClient(Connection.from_kubeconfig(str(path))) as client:
            yield client


async def create_pod(client: ApiClient, name: str) -> None:
    """Create a pod of one container."""
    spec = {"containers": [{"name": "c", "image": "registry.example/app:v1"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    await client.request("POST", PODS.path("default"), body=body)


async def changes(batches: AsyncGenerator[Batch[Pod], None], count: int) -> list[tuple[str, Pod]]:
    """Return the next changes."""
    found: list[tuple[str, Pod]] = []
    async with asyncio.timeout(5):
        while len(found) < count:
            batch = await anext(batches)
            assert isinstance(batch, Changes)
            found += [(change.type, change.object) for change in batch.changes]
    return found


async def test_life_of_a_pod(cluster: ApiClient) -> None:
    """Listed, refused, bound, deleted: each write comes back through the watch."""
    await create_pod(cluster, "p")
    reflector = Reflector(cluster, PODS, Pod, page_limit=1)
    await reflector.probe()
    async with aclosing(reflector.batches()) as batches:
        first = await anext(batches)
        assert isinstance(first, Replace)
        [pod] = first.items
        refused = Condition(type="PodScheduled", status="False", reason="Unschedulable")
        patch = pod_status_patch([], refused, nominated_node_name="n")
        assert patch is not None
        await patch_pod_status(cluster, namespace="default", name="p", patch=patch)
        [(kind, pod)] = await changes(batches, 1)
        assert (kind, pod.status.nominated_node_name) == ("MODIFIED", "n")
        assert pod.status.conditions[0].reason == "Unschedulable"
        await bind(cluster, namespace="default", name="p", uid=pod.metadata.uid, node="n")
        [(kind, pod)] = await changes(batches, 1)
        assert (kind, pod.spec.node_name) == ("MODIFIED", "n")
        await delete_pod(cluster, namespace="default", name="p", uid=pod.metadata.uid)
        [(kind, pod)] = await changes(batches, 1)
        assert kind == "MODIFIED"  # bound, so it ends in its grace period
        assert pod.metadata.deletion_timestamp is not None


async def test_pages_and_selectors(cluster: ApiClient) -> None:
    """Several pages are one Replace, and a selector leaves out what it should."""
    for number in range(5):
        await create_pod(cluster, f"p{number}")
    params = {"fieldSelector": "metadata.name!=p3"}
    reflector = Reflector(cluster, PODS, Pod, params=params, page_limit=2)
    async with aclosing(reflector.batches()) as batches:
        batch = await anext(batches)
    assert isinstance(batch, Replace)
    assert [pod.metadata.name for pod in batch.items] == ["p0", "p1", "p2", "p4"]


async def test_binding_twice_is_a_conflict(cluster: ApiClient) -> None:
    """A second binding to another node is refused, with the server's words."""
    await create_pod(cluster, "p")
    pod = Reflector(cluster, PODS, Pod)
    async with aclosing(pod.batches()) as batches:
        listed = await anext(batches)
    assert isinstance(listed, Replace)
    target: dict[str, Any] = {"namespace": "default", "name": "p"}
    uid = listed.items[0].metadata.uid
    await bind(cluster, **target, uid=uid, node="n1")
    with pytest.raises(ApiError, match='already assigned to node "n1"') as caught:
        await bind(cluster, **target, uid=uid, node="n2")
    assert caught.value.code == 409


async def test_events_and_their_series(cluster: ApiClient) -> None:
    """An event is created, and its repetition counted on it."""
    recorder = EventRecorder(cluster, "default-scheduler")
    regarding = Reference(kind="Pod", namespace="default", name="p", uid="u", api_version="v1")
    task = asyncio.create_task(recorder.run())
    for _ in range(2):
        recorder.record(
            regarding, type="Warning", reason="FailedScheduling", action="Scheduling", note="no"
        )
        await recorder.flush(5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (recorder.written, recorder.failed) == (2, 0)
    listed = await cluster.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert b'"count":2' in listed.replace(b" ", b"")


async def test_what_it_is_and_serves(cluster: ApiClient) -> None:
    """The embedded server is of the minor that Moorage equals."""
    assert (await server_version(cluster)).minor_number == 36
    assert await serves(cluster, NODES)
