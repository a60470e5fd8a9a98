"""Hours of virtual time: pods come and finish all the time, and nothing grows."""

from __future__ import annotations

import gc
import resource
import tracemalloc
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace
from tests.faults.simulated_scheduler import PLUGINS
from tests.loop_kit import PROFILE, Clock, make_framework

import moorage
from moorage.api.decoding import Added, Change, Deleted, Modified
from moorage.api.watching import Changes
from moorage.binding import Reservation
from moorage.framework.handle import Services
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import Node, NodeStatus
from moorage.model.pods import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from moorage.queueing import Place
from moorage.serving.attempts import AttemptLog
from moorage.session import Session
from moorage_builtin.image_locality import ImageLocality
from moorage_builtin.inter_pod_affinity import InterPodAffinity
from moorage_builtin.node_ports import NodePorts
from moorage_builtin.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage_builtin.pod_topology_spread import PodTopologySpread
from moorage_builtin.taint_toleration import TaintToleration

MORE: Mapping[str, type[moorage.Plugin]] = {
    "TaintToleration": TaintToleration,
    "NodePorts": NodePorts,
    "PodTopologySpread": PodTopologySpread,
    "InterPodAffinity": InterPodAffinity,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocation,
    "ImageLocality": ImageLocality,
}
LIFETIME = 30
"""Seconds that a pod runs."""
APPS = 20
"""Sets of labels that pods share; every tenth pod has a label of its own."""


class Sample(NamedTuple):
    """What is in use: bytes of memory, pods that wait, pods in the cache."""

    memory: int
    waiting: int
    running: int


class Cluster:
    """A session on many nodes; `rate` pods come in a second, and as many finish."""

    def __init__(
        self, *, nodes: int, rate: int, plugins: Mapping[str, type[moorage.Plugin]]
    ) -> None:
        self.clock = Clock()
        self._rate = rate
        self._services = services = Services(clock=self.clock, generator=np.random.default_rng(1))
        framework = make_framework(plugins, services=services)
        framework.register_events()
        self.session = Session({PROFILE: framework}, services)
        # As many as the first seconds fill, or minutes would not do to see that nothing else grows.
        self.session.record.attempts = AttemptLog(most=200)
        self._version = 0
        self._made = 0
        self._running: deque[list[Pod]] = deque()
        self._told: list[Change[Pod]] = []
        self.session.nodes.take(Changes([Added(self._node(index)) for index in range(nodes)]))

    def second(self) -> None:
        """Let one second pass: pods come, are bound and finish, and the watch tells of all that."""
        self.clock.now += 1.0
        self._told += [Added(self._pod()) for _ in range(self._rate)]
        if len(self._running) == LIFETIME:
            self._told += [Deleted(pod) for pod in self._running.popleft()]
        self.session.pods.take(Changes(self._told))
        self._told = []
        self.session.tick()
        bound: list[Pod] = []
        while (outcome := self.session.attempt()) is not None:
            if isinstance(outcome, Reservation):
                self.session.permitted(outcome)
                self.session.bound(outcome)
                bound.append(outcome.info.pod)
        self._told = [Modified(self._newer(pod)) for pod in bound]
        self._running.append([change.object for change in self._told])

    def sample(self, memory: Callable[[], int]) -> Sample:
        """Measure, after somebody has read the metrics: what is observed is kept until then."""
        self._services.metrics.text()
        gc.collect()
        counts = self.session.queue.counts()
        waiting = sum(counts[place] for place in Place if place in counts)
        return Sample(memory(), waiting, self.session.cluster.pod_count)

    def _node(self, index: int) -> Node:
        labels = {
            "kubernetes.io/hostname": f"n{index}",
            "topology.kubernetes.io/zone": "abc"[index % 3],
        }
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        return Node(
            metadata=ObjectMeta(name=f"n{index}", labels=labels, resource_version=self._next()),
            status=NodeStatus(allocatable=room),
        )

    def _pod(self) -> Pod:
        self._made += 1
        name = f"job-{self._made}"
        labels = {"app": f"app{self._made % APPS}"}
        if self._made % 10 == 0:
            labels["job-name"] = name
        return Pod(
            metadata=ObjectMeta(
                name=name, namespace="ns", uid=name, labels=labels, resource_version=self._next()
            ),
            spec=PodSpec(
                containers=(
                    Container(
                        name="c",
                        image=f"registry/app:{self._made}",
                        resources=ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"}),
                    ),
                )
            ),
            status=PodStatus(phase="Pending"),
        )

    def _newer(self, pod: Pod) -> Pod:
        return replace(pod, metadata=replace(pod.metadata, resource_version=self._next()))

    def _next(self) -> str:
        self._version += 1
        return str(self._version)


def allocated() -> int:
    """Return the bytes that Python has allocated since tracing began: exact, and slow."""
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def run(cluster: Cluster, memory: Callable[[], int], *, seconds: int, every: int) -> list[Sample]:
    """Let time pass, and measure every so many seconds."""
    samples = []
    for second in range(seconds):
        cluster.second()
        if (second + 1) % every == 0:
            samples.append(cluster.sample(memory))
    cluster.session.cluster.check_invariants()
    cluster.session.queue.check_invariants()
    return samples


def judge(samples: list[Sample], *, running: int) -> None:
    """Assert that the last third is within five percent of the middle third, and no queue grows."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]
    memory = [sum(one.memory for one in part) / len(part) for part in (middle, last)]
    assert abs(memory[1] / memory[0] - 1) < 0.05, [one.memory for one in samples]
    assert {one.waiting for one in last} == {0}
    assert {one.running for one in last} == {running}


def test_minutes_leave_memory_and_queues_as_they_were() -> None:
    """Three minutes: 10 pods a second on 30 nodes, 1,800 pods."""
    cluster = Cluster(nodes=30, rate=10, plugins=PLUGINS)
    tracemalloc.start()
    try:
        samples = run(cluster, allocated, seconds=180, every=7)
    finally:
        tracemalloc.stop()
    judge(samples, running=10 * LIFETIME)


@pytest.mark.slow
def test_an_hour_leaves_memory_and_queues_as_they_were() -> None:
    """100 pods a second on 1,000 nodes with more plugins: 360,000 pods."""
    cluster = Cluster(nodes=1000, rate=100, plugins={**PLUGINS, **MORE})
    # Caches fill and are cleared every minute or two: measured far more often than that.
    judge(run(cluster, resident, seconds=3600, every=7), running=100 * LIFETIME)
