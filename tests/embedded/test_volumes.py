"""The stand-in for the volume controller and CSI provisioners, on the server's own objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock


@pytest.fixture
async def running(clock: ManualClock) -> AsyncIterator[EmbeddedApiServer]:
    """Run a server with the stand-in."""
    async with EmbeddedApiServer(clock=clock) as server:
        yield server


async def settle() -> None:
    """Let everything run that is ready to."""
    for _ in range(20):
        await asyncio.sleep(0)


def create(server: EmbeddedApiServer, kind: str, name: str, **parts: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Create an object."""
    api_version = "storage.k8s.io/v1" if kind == "StorageClass" else "v1"
    return server.store.create(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}
    )


def claim_spec(class_name: str) -> dict[str, Any]:
    """Write what a claim wants."""
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": "1Gi"}},
    }


async def test_an_unbound_claim_ends_bound(running: EmbeddedApiServer) -> None:
    """With a volume made for it, stamped by the server's clock."""
    create(running, "StorageClass", "now", provisioner="csi.example.com")
    create(running, "PersistentVolumeClaim", "c", spec=claim_spec("now"))
    await settle()

    claim = running.store.get("persistentvolumeclaims", "c", namespace="default")
    volume = running.store.get("persistentvolumes", claim["spec"]["volumeName"])
    assert claim["status"]["phase"] == volume["status"]["phase"] == "Bound"
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert volume["status"]["lastPhaseTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_what_was_there_before_the_start_is_looked_after(clock: ManualClock) -> None:
    """A claim that was created first, and its class after it."""
    server = EmbeddedApiServer(clock=clock)
    create(server, "PersistentVolumeClaim", "c", spec=claim_spec("now"))
    create(server, "StorageClass", "now", provisioner="csi.example.com")
    async with server:
        await settle()
        claim = server.store.get("persistentvolumeclaims", "c", namespace="default")

    assert claim["status"]["phase"] == "Bound"


async def test_the_claim_of_an_ephemeral_volume_comes_and_goes_with_its_pod(
    running: EmbeddedApiServer,
) -> None:
    """And so does the volume that was made for it."""
    create(running, "StorageClass", "now", provisioner="csi.example.com")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": claim_spec("now")}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    containers = [{"name": "c", "image": "app"}]
    pod = create(running, "Pod", "p", spec={"containers": containers, "volumes": volumes})
    await settle()

    claim = running.store.get("persistentvolumeclaims", "p-v", namespace="default")
    (owner,) = claim["metadata"]["ownerReferences"]
    assert claim["status"]["phase"] == "Bound"
    assert (owner["uid"], owner["controller"]) == (pod["metadata"]["uid"], True)
    assert claim["metadata"]["labels"] == {"a": "b"}

    running.store.delete("pods", "p", namespace="default", grace_seconds=0)
    await settle()
    assert running.store.list("persistentvolumeclaims") == []
    assert running.store.list("persistentvolumes") == []


async def test_without_the_stand_in_nothing_happens(clock: ManualClock) -> None:
    """For those who want to be the volume controller themselves."""
    async with EmbeddedApiServer(clock=clock, volumes=False) as server:
        create(server, "StorageClass", "now", provisioner="csi.example.com")
        create(server, "PersistentVolumeClaim", "c", spec=claim_spec("now"))
        await settle()

        claim = server.store.get("persistentvolumeclaims", "c", namespace="default")
        assert claim["status"]["phase"] == "Pending"
