"""The stand-in for the resource claim controller: what becomes of claims when pods end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from moorage.embedded import EmbeddedApiServer

CLAIMS = "resourceclaims.resource.k8s.io"
FINALIZER = "resource.kubernetes.io/delete-protection"


async def eventually(truth: Callable[[], object]) -> None:
    """Wait until a function says yes."""
    async with asyncio.timeout(5):
        while True:
            if truth():
                return
            await asyncio.sleep(0.01)


def create(server: EmbeddedApiServer, kind: str, name: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Create an object."""
    metadata = {"name": name, "namespace": "default", **content.pop("metadata", {})}
    version = "v1" if kind == "Pod" else "resource.k8s.io/v1"
    item = {"apiVersion": version, "kind": kind, "metadata": metadata, **content}
    return server.store.create(item)


def pod(server: EmbeddedApiServer, name: str, **reference: str) -> dict[str, Any]:
    """Create a pod that uses a claim."""
    spec = {
        "containers": [{"name": "c", "image": "web"}],
        "resourceClaims": [{"name": "g", **reference}],
    }
    return create(server, "Pod", name, spec=spec)


def allocate(server: EmbeddedApiServer, name: str, *pods: dict[str, Any]) -> None:
    """Do what a scheduler does to a claim."""
    users = [
        {"resource": "pods", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
        for one in pods
    ]
    changes = (
        ({"metadata": {"finalizers": [FINALIZER]}}, ""),
        (
            {"status": {"allocation": {"devices": {}}, "reservedFor": users}},
            "status",
        ),
    )
    for patch, subresource in changes:
        server.store.patch(
            CLAIMS, name, patch, namespace="default", kind="merge", subresource=subresource
        )


REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}


async def test_claim_gives_back_its_devices_with_its_last_user(server: EmbeddedApiServer) -> None:
    """One user less changes nothing for the others."""
    create(server, "ResourceClaim", "shared", spec=REQUESTS)
    first, second = (pod(server, name, resourceClaimName="shared") for name in ("p1", "p2"))
    allocate(server, "shared", first, second)

    def status() -> dict[str, Any]:
        found: dict[str, Any] = server.store.get(CLAIMS, "shared", namespace="default")["status"]
        return found

    server.store.delete("pods", "p1", namespace="default", grace_seconds=0)
    await eventually(lambda: len(status()["reservedFor"]) == 1)
    assert "allocation" in status()
    server.store.delete("pods", "p2", namespace="default", grace_seconds=0)
    await eventually(lambda: status() == {})


async def test_claim_from_a_template_goes_when_its_pod_ends(server: EmbeddedApiServer) -> None:
    """Also where the pod itself stays, and a finalizer guards the claim."""
    create(server, "ResourceClaimTemplate", "t", spec={"spec": REQUESTS})
    one = pod(server, "p", resourceClaimTemplateName="t")
    await eventually(lambda: server.store.list(CLAIMS))
    [claim] = server.store.list(CLAIMS)
    assert claim["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    [named] = server.store.get("pods", "p", namespace="default")["status"]["resourceClaimStatuses"]
    assert named == {"name": "g", "resourceClaimName": claim["metadata"]["name"]}
    allocate(server, claim["metadata"]["name"], one)

    ended = {"status": {"phase": "Succeeded"}}
    server.store.patch("pods", "p", ended, namespace="default", subresource="status")

    await eventually(lambda: not server.store.list(CLAIMS))
