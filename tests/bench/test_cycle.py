"""How long one scheduling cycle of the default profile takes at 5,000 nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.bench.fit_pass import cluster_of, cycle_of, decide, measure, pod, report

from moorage.cache import ClusterCache
from moorage.cycle import Decision

pytestmark = pytest.mark.bench

NODES = 5000
LATER = frozenset(
    {
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
"""Plugins with bounds of their own; the bounds here are for the node-level ones."""


@pytest.fixture
def cluster() -> ClusterCache:
    """Make 5,000 nodes with 10,000 pods."""
    return cluster_of(NODES, 2)


def assume(cluster: ClusterCache) -> Callable[[Decision], None]:
    """Return what follows a decision in the runner: the pod is counted on its node."""

    def after(decision: Decision) -> None:
        assert decision.node_name, decision.message
        cluster.assume(decision.info, decision.row)

    return after


def test_a_pod_unlike_any_before_costs_at_most_six_fit_passes(cluster: ClusterCache) -> None:
    """Requests, selector and tolerations of each pod are new, and half of the nodes fit."""
    cycle = cycle_of(cluster, without=LATER)

    def pods() -> Iterator[Callable[[], Decision]]:
        for number in range(200):
            spec = {
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": f"key-{number}", "operator": "Exists"}],
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/app-1:v1",
                        "resources": {"requests": {"cpu": f"{200 + number}m", "memory": "1Gi"}},
                    }
                ],
            }
            yield decide(cycle, pod(number, spec))

    measured = measure(pods(), assume(cluster))
    report("a pod unlike any before", measured, 6)
    assert measured.ratio <= 6


def test_a_pod_like_one_before_costs_at_most_one_fit_pass(cluster: ClusterCache) -> None:
    """Each pod is placed before the next is decided, so that one row has changed each time."""
    cycle = cycle_of(cluster, without=LATER)
    measured = measure((decide(cycle, pod(number)) for number in range(600)), assume(cluster))
    report("a pod whose signature was seen", measured, 1)
    assert measured.ratio <= 1
