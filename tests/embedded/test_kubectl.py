"""The real kubectl against the embedded server; not collected where there is none."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from moorage.embedded import EmbeddedApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: main
      image: registry.example/web:1
      resources: {requests: {cpu: 100m}}
"""
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    },
}


@pytest.fixture
async def running() -> AsyncIterator[EmbeddedApiServer]:
    """Run a server with one node and the stand-in for its kubelet."""
    async with EmbeddedApiServer() as server:
        server.store.create(NODE)
        yield server


@pytest.fixture
def kubectl(running: EmbeddedApiServer, tmp_path: Path) -> Callable[..., Awaitable[str]]:
    """Return a call that runs kubectl and gives what it prints; it has to succeed."""
    config = tmp_path / "kubeconfig"
    config.write_text(running.kubeconfig())
    environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)}

    async def run(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _nothing = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()

    return run


async def test_a_pod_can_be_applied_bound_described_and_deleted(
    running: EmbeddedApiServer, kubectl: Callable[..., Awaitable[str]], tmp_path: Path
) -> None:
    """From its manifest to its end; kubectl waits until it is gone."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(MANIFEST)
    assert await kubectl("apply", "-f", str(manifest)) == "pod/web created\n"
    running.store.bind("web", "n1", namespace="default")
    manifest.write_text(MANIFEST.replace("web:1", "web:2"))
    assert await kubectl("apply", "-f", str(manifest)) == "pod/web configured\n"
    listed = (await kubectl("get", "pods,nodes", "-o", "wide")).split()
    assert {"pod/web", "1/1", "Running", "node/n1", "Ready"} <= set(listed)
    described = await kubectl("describe", "pod", "web")
    assert "registry.example/web:2" in described
    assert "PodScheduled" in described
    deleted = await kubectl("delete", "pod", "web")
    assert deleted.startswith('pod "web" deleted')
    assert running.store.list("pods") == []


async def test_a_command_that_sends_protobuf_is_told_what_to_do(
    kubectl: Callable[..., Awaitable[str]], tmp_path: Path
) -> None:
    """And doing so works."""
    create = ("create", "deployment", "web", "--image=web:1")
    with pytest.raises(AssertionError, match=r"--dry-run=client -o yaml \| kubectl apply -f -"):
        await kubectl(*create)
    manifest = tmp_path / "deployment.yaml"
    manifest.write_text(await kubectl(*create, "--dry-run=client", "-o", "yaml"))
    assert await kubectl("apply", "-f", str(manifest)) == "deployment.apps/web created\n"


async def test_events_are_printed(
    running: EmbeddedApiServer, kubectl: Callable[..., Awaitable[str]]
) -> None:
    """Those that a scheduler writes."""
    running.store.create(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "default-scheduler",
            "reportingInstance": "here",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {"kind": "Pod", "namespace": "default", "name": "web"},
            "note": "Successfully assigned default/web to n1",
            "type": "Normal",
        }
    )
    printed = await kubectl("get", "events")
    assert "Scheduled" in printed
    assert "pod/web" in printed
    assert "Successfully assigned default/web to n1" in printed
