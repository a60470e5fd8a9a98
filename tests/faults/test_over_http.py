"""The live scheduler against an API server over HTTP in which everything goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.faults.injector import Injector
from tests.faults.simulated_scheduler import PLUGINS
from tests.loop_kit import PROFILE, make_framework

from moorage.api.connection import Connection
from moorage.embedded import EmbeddedApiServer
from moorage.framework.handle import Services
from moorage.queueing import Place
from moorage.runner import Runner
from moorage_builtin.default_binder import DefaultBinder

WRITES = Path(__file__).parent.parent / "data" / "wire" / "kube-scheduler-writes-1.36.json"
_ROOM = 20
_PATIENCE = 120.0
_KINDS = ("/binding", "/events.k8s.io/", "/status")


class Churn:
    """Pods and nodes that come and go at the API server's own store."""

    def __init__(self, server: EmbeddedApiServer, *, pods: int, seed: int) -> None:
        self._store = server.store
        self._server = server
        self._dice = random.Random(seed)
        self._pods = pods
        self._made = Counter[str]()
        for _ in range(pods // _ROOM + 5):
            self._node_comes()

    async def run(self) -> None:
        """Let things happen; at the end there is room for every pod but those that fit nowhere."""
        while self._made["pod"] < self._pods:
            for _ in range(self._dice.randint(1, 30)):
                self._pod_comes()
            self._dice.choice(
                (self._node_comes, self._node_goes, self._node_is_cordoned, self._pods_go)
            )()
            self._pods_go()
            await asyncio.sleep(0.02)
            if self._dice.random() < 0.01:
                self._store.compact()
        for node in self._store.list("nodes"):
            if node["spec"].get("unschedulable"):
                self._cordon(node["metadata"]["name"], to=False)
        for _ in range(5):
            self._node_comes()

    async def restart(self) -> None:
        """Stop the server for a moment; it comes back without its history."""
        await self._server.__aexit__(None, None, None)
        self._store.compact()
        await asyncio.sleep(0.1)
        await self._server.__aenter__()

    def _pod_comes(self) -> None:
        number = self._next("pod")
        cpu = "99" if number % 50 == 0 else "1"
        resources = {"requests": {"cpu": cpu}}
        self._store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"p{number}", "namespace": "default"},
                "spec": {"containers": [{"name": "c", "image": "app:v1", "resources": resources}]},
            }
        )

    def _pods_go(self) -> None:
        pods = self._store.list("pods")
        for pod in self._dice.sample(pods, min(len(pods), self._dice.randint(0, 4))):
            self._delete_pod(pod)

    def _node_comes(self) -> None:
        room = {"cpu": str(_ROOM), "memory": "8Gi", "pods": "110"}
        self._store.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{self._next('node')}"},
                "status": {"allocatable": room, "capacity": room},
            }
        )

    def _node_goes(self) -> None:
        """Take a node away with its pods, as the pod garbage collector does; another one comes."""
        name = self._any_node()
        self._store.delete("nodes", name)
        for pod in self._store.list("pods"):
            if pod["spec"].get("nodeName") == name:
                self._delete_pod(pod)
        self._node_comes()

    def _node_is_cordoned(self) -> None:
        self._cordon(self._any_node(), to=self._dice.random() < 0.5)

    def _cordon(self, name: str, *, to: bool) -> None:
        self._store.patch("nodes", name, {"spec": {"unschedulable": to}})

    def _delete_pod(self, pod: dict[str, Any]) -> None:
        self._store.delete("pods", pod["metadata"]["name"], namespace="default", grace_seconds=0)

    def _any_node(self) -> str:
        name: str = self._dice.choice(self._store.list("nodes"))["metadata"]["name"]
        return name

    def _next(self, kind: str) -> int:
        self._made[kind] += 1
        return self._made[kind]


async def survive(*, pods: int, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Run a scheduler through faults and churn, and judge when both are over."""
    services = Services()
    framework = make_framework({**PLUGINS, "DefaultBinder": DefaultBinder}, services=services)
    with caplog.at_level(logging.INFO):
        async with (
            EmbeddedApiServer(kubelet=False, bookmark_seconds=0.3) as server,
            Injector(server.url, seed=seed) as injector,
        ):
            churn = Churn(server, pods=pods, seed=seed)
            runner = Runner(
                {PROFILE: framework},
                services,
                Connection.to_url(injector.url),
                initial_backoff=0.1,
                max_backoff=1.0,
                silence_limit=1.5,
            )
            injector.calm = True  # or it may not even start
            task = asyncio.create_task(runner.run())
            await runner.until_idle()
            injector.calm = False
            await churn.run()
            await churn.restart()
            await asyncio.sleep(0.5)
            injector.calm = True
            await _until_all_is_bound(server, runner)
            runner.stop()
            await asyncio.wait_for(task, 20)
            _judge(server, injector, runner)
    _judge_log(caplog)
    assert not services.metrics.scheduling.scheduled_after_flush.value()


async def _until_all_is_bound(server: EmbeddedApiServer, runner: Runner) -> None:
    async with asyncio.timeout(_PATIENCE):
        while any(  # noqa: ASYNC110 - a store tells nobody
            not pod["spec"].get("nodeName") and _cpu(pod) < _ROOM
            for pod in server.store.list("pods")
        ):
            await asyncio.sleep(0.1)
        await runner.until_idle()


def _judge(server: EmbeddedApiServer, injector: Injector, runner: Runner) -> None:
    pods = {pod["metadata"]["uid"]: pod for pod in server.store.list("pods")}
    nodes = {node["metadata"]["name"]: node for node in server.store.list("nodes")}
    session = runner.session
    session.cluster.check_invariants()
    session.queue.check_invariants()
    assert set(injector.bindings.values()) == {1}, "a pod was bound twice"
    used: Counter[str] = Counter()
    for pod in pods.values():
        used[pod["spec"].get("nodeName", "")] += _cpu(pod)
    assert all(used[name] <= _ROOM for name in nodes), "a node is over its allocatable"
    bound = {uid: pod["spec"]["nodeName"] for uid, pod in pods.items() if "nodeName" in pod["spec"]}
    assert not session.cluster.assumed_count
    assert {info.uid: session.cluster.node_of(info.uid) for info in session.cluster.pods()} == bound
    assert {node.metadata.name for node in session.cluster.nodes()} == set(nodes)
    for uid, pod in pods.items():
        known = session.pods.known(uid)
        assert known is not None
        assert known.pod.metadata.resource_version == pod["metadata"]["resourceVersion"]
        place = session.queue.place(uid)
        assert place is (Place.OUTSIDE if uid in bound else Place.UNSCHEDULABLE)
        conditions = pod["status"].get("conditions", [])
        [scheduled] = [one for one in conditions if one["type"] == "PodScheduled"]
        assert scheduled["status"] == ("True" if uid in bound else "False")
    _judge_writes(injector)


def _judge_writes(injector: Injector) -> None:
    """Hold each body to those that a kube-scheduler wrote: the same fields in the same order."""
    recorded = json.loads(WRITES.read_text())
    shapes = {
        kind: [_fields(write["body"]) for write in recorded if kind in write["path"]]
        for kind in _KINDS
    }
    for write in injector.writes:
        [kind] = [kind for kind in _KINDS if kind in write.path]
        if kind == "/events.k8s.io/" and write.method == "PATCH":
            assert _fields(write.body) == [".series", ".series.count", ".series.lastObservedTime"]
        elif (
            kind == "/status"
        ):  # the difference to what the pod says, so that any part may be missing
            assert set(_fields(write.body)) <= set().union(*shapes[kind])
        else:
            assert _fields(write.body) in shapes[kind], write


def _fields(body: Any, prefix: str = "") -> list[str]:  # noqa: ANN401 - JSON
    if isinstance(body, dict):
        return [
            field
            for key, value in body.items()
            for field in (f"{prefix}.{key}", *_fields(value, f"{prefix}.{key}"))
        ]
    if isinstance(body, list):
        return [field for value in body for field in _fields(value, f"{prefix}[]")]
    return []


def _cpu(pod: dict[str, Any]) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _judge_log(caplog: pytest.LogCaptureFixture) -> None:
    """Account for everything that was logged as an error, or with a traceback."""
    for record in caplog.records:
        text = record.getMessage()
        assert not record.exc_info, text
        if record.levelno >= logging.ERROR:
            assert text.startswith("Error scheduling pod default/"), text
            assert 'running Bind plugin "DefaultBinder"' in text, text


@pytest.mark.parametrize("seed", [1, 2])
async def test_faults_lose_no_pod_and_bind_none_twice(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Three hundred pods, with churn of pods and nodes."""
    await survive(pods=300, seed=seed, caplog=caplog)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_faults_of_ten_seeds_lose_no_pod_and_bind_none_twice(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Two thousand pods, with churn of pods and nodes."""
    await survive(pods=2000, seed=seed, caplog=caplog)
