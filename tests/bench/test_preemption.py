"""How long it takes from the start of a failing cycle to the nomination, in a full cluster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from tests.bench.fit_pass import Measured, decide, fit_pass, pod, report

from moorage import Node, PodInfo, discover
from moorage.cache import ClusterCache
from moorage.config import default_configuration
from moorage.config.producers import assemble
from moorage.cycle import Cycle, Decision
from moorage.framework.handle import Services
from moorage.queueing.nominator import Nominator

pytestmark = pytest.mark.bench

NODES, PODS_A_NODE, PREEMPTORS = 5000, 4, 500


def fill(cluster: ClusterCache) -> None:
    """Fill 5,000 nodes with 20,000 pods of low priority, started at different times."""
    room = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": "110"}
    for number in range(NODES):
        name = f"node-{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": f"zone-{number % 3}",
        }
        node = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": room}}
        cluster.set_node(msgspec.convert(node, Node))
        for slot in range(PODS_A_NODE):
            bound = NODES * slot + number
            request = {"cpu": "8", "memory": f"{256 + bound % 50}Mi"}
            container = {"name": "main", "image": "old:v1", "resources": {"requests": request}}
            spec = {
                "nodeName": name,
                "priority": (bound * 7919) % 10,
                "containers": [container],
            }
            status = {"startTime": f"2026-01-01T{bound % 24:02}:{bound % 60:02}:00Z"}
            info = pod(10**7 + bound, spec, labels={"app": f"app-{bound % 100}"})
            started = msgspec.structs.replace(
                info.pod, status=msgspec.convert(status, type(info.pod.status))
            )
            cluster.add_pod(type(info)(started))


def test_a_preemption_costs_at_most_forty_fit_passes() -> None:
    """500 preemptors, each unlike the one before, each with 500 candidates and one to three victims.

    Of CPU time: from the start of the failing cycle to the nomination.
    """
    nominator = Nominator()
    cluster = ClusterCache()
    fill(cluster)
    services = Services(cluster=cluster, generator=np.random.default_rng(1), nominations=nominator)
    framework = assemble(default_configuration(), discover(), services=services).frameworks
    cycle = Cycle(framework["moorage"], cluster, nominator=nominator)

    before, seconds = fit_pass(), []
    for info in preemptors():
        action = decide(cycle, info)
        begun = time.process_time()
        decision = action()
        seconds.append(time.process_time() - begun)
        carry_out(decision, cluster, nominator)
    unit = statistics.mean([before, fit_pass()])
    measured = Measured(statistics.median(seconds), unit)
    report("a preemption among 500 candidates", measured, 40)
    assert measured.ratio <= 40


def preemptors() -> Iterator[PodInfo]:
    """Yield pods that want a node's quarter to three quarters, no two of them alike."""
    for number in range(PREEMPTORS):
        container = {
            "name": "main",
            "image": "new:v1",
            "resources": {"requests": {"cpu": f"{7000 + number * 33}m", "memory": "1Gi"}},
        }
        spec = {"priority": 1000, "containers": [container]}
        yield pod(number, spec, labels={"app": "new"})


def carry_out(decision: Decision, cluster: ClusterCache, nominator: Nominator) -> None:
    """Do what follows: the victims go, and the pod waits for its node."""
    made_room = decision.made_room
    assert made_room is not None, decision.message
    assert made_room.victims, decision.message
    nominator.nominate(decision.info, made_room.node_name)
    for victim in made_room.victims:
        cluster.remove_pod(victim.uid)
