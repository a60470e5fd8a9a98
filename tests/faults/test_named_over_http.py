"""Faults of connections and processes, by name, with the live scheduler over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.faults.injector import Injector
from tests.loop_kit import Room, Sort, make_framework, scripted
from tests.runner.conftest import Bind

import moorage
from moorage.api.connection import Connection
from moorage.embedded import EmbeddedApiServer
from moorage.framework.handle import Services
from moorage.runner import Runner

PATIENCE = 15.0


class World:
    """An API server behind an injector that is calm until told, and runners on it."""

    def __init__(self, server: EmbeddedApiServer, injector: Injector) -> None:
        self.server = server
        self.store = server.store
        self.injector = injector

    def node(self, name: str, *, cpu: int = 4) -> None:
        """Create a node."""
        room = {"cpu": str(cpu), "memory": "8Gi", "pods": "110"}
        status = {"allocatable": room, "capacity": room}
        self.store.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
        )

    def pod(self, name: str, *, profile: str = "default-scheduler") -> None:
        """Create a pod of one cpu."""
        container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": "1"}}}
        self.store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"schedulerName": profile, "containers": [container]},
            }
        )

    def nodes_of_pods(self) -> dict[str, str]:
        """Return the node of each pod, by name; empty: none."""
        return {
            pod["metadata"]["name"]: pod["spec"].get("nodeName", "")
            for pod in self.store.list("pods")
        }

    def runner(self, profile: str = "default-scheduler", **plugins: type[moorage.Plugin]) -> Runner:
        """Make a scheduler."""
        services = Services()
        framework = make_framework(
            {"Sort": Sort, "Room": Room, **plugins, "Bind": Bind},
            services=services,
            profile=profile,
        )
        return Runner(
            {profile: framework},
            services,
            Connection.to_url(self.injector.url),
            grace=1.0,
            silence_limit=0.8,
            handle_signals=True,
        )

    async def until(self, truth: Callable[[], object]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE):
            while not truth():  # noqa: ASYNC110 - a store tells nobody
                await asyncio.sleep(0.01)

    @contextlib.asynccontextmanager
    async def running(self, runner: Runner) -> AsyncIterator[asyncio.Task[None]]:
        """Run a scheduler during a block, and stop it."""
        task = asyncio.create_task(runner.run())
        try:
            await asyncio.wait_for(runner.until_idle(), PATIENCE)
            yield task
        finally:
            runner.stop()
            await asyncio.wait_for(task, PATIENCE)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Start a server and an injector."""
    async with (
        EmbeddedApiServer(kubelet=False, bookmark_seconds=0.3) as server,
        Injector(server.url, seed=1) as injector,
    ):
        injector.calm = True
        yield World(server, injector)


async def test_half_open_watch_is_noticed(world: World) -> None:
    """It stays open and says nothing, not even bookmarks: after a while it is opened again."""
    world.node("n1")
    async with world.running(world.runner()):
        world.injector.silence_watches()
        world.pod("p")
        await world.until(lambda: world.nodes_of_pods()["p"])


async def test_restart_of_the_api_server_without_its_history(world: World) -> None:
    """What happened while it was away is found by listing."""
    world.node("n1")
    world.pod("before")
    async with world.running(world.runner()) as _:
        await world.server.__aexit__(None, None, None)
        world.pod("meanwhile")
        world.store.delete("pods", "before", namespace="default", grace_seconds=0)
        world.store.compact()
        await asyncio.sleep(0.2)
        await world.server.__aenter__()
        await world.until(lambda: world.nodes_of_pods() == {"meanwhile": "n1"})


async def test_restart_of_the_scheduler_in_the_middle(world: World) -> None:
    """It is killed while it binds a hundred pods; the next one binds the rest, and none twice."""
    for index in range(10):
        world.node(f"n{index}", cpu=10)
    for index in range(100):
        world.pod(f"p{index}")
    task = asyncio.create_task(world.runner().run())
    await world.until(lambda: any(world.nodes_of_pods().values()))
    task.cancel()
    await asyncio.wait([task])
    async with world.running(world.runner()):
        pass
    assert set(Counter(world.nodes_of_pods().values()).values()) == {10}
    assert set(world.injector.bindings.values()) == {1}


async def test_neighbour_on_the_same_nodes(world: World) -> None:
    """Two schedulers fill the same nodes; each sees what the other does within the watch lag."""
    for index in range(5):
        world.node(f"n{index}", cpu=10)
    ours, theirs = world.runner("ours"), world.runner("theirs")
    async with world.running(ours), world.running(theirs):
        for index in range(30):
            world.pod(f"o{index}", profile="ours")
            world.pod(f"t{index}", profile="theirs")
            await asyncio.sleep(0.03)  # more than the watch lags behind
        await world.until(lambda: len(world.injector.bindings) >= 50)
        await asyncio.wait_for(asyncio.gather(ours.until_idle(), theirs.until_idle()), PATIENCE)
    counts = Counter(world.nodes_of_pods().values())
    assert all(10 <= counts[f"n{index}"] <= 11 for index in range(5)), counts
    assert set(world.injector.bindings.values()) == {1}


async def _for_ever(*_: object) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("hook", ["pre_bind_pre_flight", "pre_bind", "bind"])
async def test_hanging_hook_delays_its_pod_alone_and_no_shutdown(world: World, hook: str) -> None:
    """SIGTERM: no new cycles, what hangs is undone, and the process ends in its grace period."""
    world.node("n1")

    def hang_for_one(pod: moorage.Pod, plugin: moorage.Plugin) -> Any:  # noqa: ANN401 - a script
        if pod.metadata.name == "hangs":
            return _for_ever()
        return moorage.SKIP if hook == "bind" else None

    log: list[str] = []
    answers: dict[str, Any] = {hook: hang_for_one, "pre_bind": None} | {hook: hang_for_one}
    plugin = scripted((*answers, "unreserve"), answers, log, asynchronous=True)
    world.pod("hangs")
    world.pod("other")
    task = asyncio.create_task(world.runner(Plugin=plugin).run())
    await world.until(lambda: world.nodes_of_pods()["other"])
    signal.raise_signal(signal.SIGTERM)
    world.pod("late")
    await asyncio.wait_for(task, 5)
    assert world.nodes_of_pods() == {"hangs": "", "other": "n1", "late": ""}
    assert "Plugin.unreserve" in log


async def test_pod_that_pre_enqueue_holds_back_says_why(world: World) -> None:
    """In its PodScheduled condition and in an Event; asked again, it is not written again."""
    world.node("n1")
    answers = {"pre_enqueue": moorage.Verdict.unresolvable("waiting for quota")}
    async with world.running(world.runner(Quota=scripted(("pre_enqueue",), answers, []))):
        world.pod("p")

        def condition() -> dict[str, Any]:
            [found] = [
                one
                for one in world.store.get("pods", "p", namespace="default")["status"].get(
                    "conditions", [{"type": "PodScheduled"}]
                )
                if one["type"] == "PodScheduled"
            ]
            return dict(found)

        await world.until(lambda: condition().get("message") == "waiting for quota")
        assert condition()["reason"] == "NotReadyForScheduling"
        patch = {"metadata": {"labels": {"any": "change"}}}
        world.store.patch("pods", "p", patch, namespace="default")
        await world.until(lambda: len(world.store.list("events")) == 1)
    writes = Counter(write.method for write in world.injector.writes)
    assert writes == {"PATCH": 1, "POST": 1}, json.dumps([w.path for w in world.injector.writes])
