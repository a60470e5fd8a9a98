"""A cluster in memory, reached through a proxy, and a runner of test plugins on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.api_proxy import ApiProxy
from tests.loop_kit import PROFILE, Room, Sort, make_framework

import moorage
from moorage.api.connection import Connection
from moorage.embedded import EmbeddedApiServer
from moorage.framework.handle import Services
from moorage.runner import Runner

WRITES = Path(__file__).parent.parent / "data" / "wire" / "kube-scheduler-writes-1.36.json"


class Bind(moorage.Plugin):
    """Binds by a Binding."""

    @moorage.hookimpl
    async def bind(self, pod: moorage.Pod, node_name: str) -> None:
        """Write it."""
        await self.handle.bind(pod, node_name)


class Cluster:
    """An API server, what is written to it, and how to run a scheduler on it."""

    def __init__(self, server: EmbeddedApiServer, proxy: ApiProxy) -> None:
        self.server = server
        self.store = server.store
        self.proxy = proxy

    def node(self, name: str, *, cpu: str = "4", labels: Mapping[str, str] | None = None) -> None:
        """Create a node."""
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        self.store.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": dict(labels or {})},
                "status": {"allocatable": amounts, "capacity": amounts},
            }
        )

    def pod(self, name: str, *, cpu: str = "1", scheduler: str = PROFILE, **spec: Any) -> None:  # noqa: ANN401 - JSON
        """Create a pod."""
        container = {"name": "c", "image": "app:v1", "resources": {"requests": {"cpu": cpu}}}
        self.store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"schedulerName": scheduler, "containers": [container], **spec},
            }
        )

    def get(self, name: str) -> dict[str, Any]:
        """Return a pod."""
        return self.store.get("pods", name, namespace="default")

    def node_of(self, name: str) -> str:
        """Return the node of a pod; empty: none."""
        return str(self.get(name)["spec"].get("nodeName", ""))

    def condition(self, name: str) -> dict[str, Any]:
        """Return the PodScheduled condition of a pod."""
        conditions = self.get(name)["status"].get("conditions", [])
        return next((one for one in conditions if one["type"] == "PodScheduled"), {})

    def runner(self, **plugins: type[moorage.Plugin]) -> Runner:
        """Make a runner of `Sort`, `Room`, further plugins, and `Bind`."""
        services = Services()
        enabled: dict[str, type[moorage.Plugin]] = {"Sort": Sort, "Room": Room}
        enabled |= plugins | {"Bind": Bind}
        framework = make_framework(enabled, services=services)
        return Runner({PROFILE: framework}, services, Connection.to_url(self.proxy.url), grace=2.0)

    @asynccontextmanager
    async def running(self, runner: Runner) -> AsyncIterator[Runner]:
        """Run a scheduler while the block lasts, and stop it in good order."""
        task = asyncio.create_task(runner.run())
        try:
            async with asyncio.timeout(15):
                yield runner
        finally:
            runner.stop()
            await asyncio.wait_for(task, 10)

    async def until_idle(self, **plugins: type[moorage.Plugin]) -> Runner:
        """Run a scheduler until nothing more happens."""
        async with self.running(self.runner(**plugins)) as runner:
            await runner.until_idle()
        return runner


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Start an embedded API server behind a proxy."""
    async with EmbeddedApiServer() as server, ApiProxy(server.url) as proxy:
        yield Cluster(server, proxy)


@pytest.fixture
def wire() -> list[dict[str, Any]]:
    """Return what a kube-scheduler wrote."""
    loaded: list[dict[str, Any]] = json.loads(WRITES.read_text())
    return loaded
