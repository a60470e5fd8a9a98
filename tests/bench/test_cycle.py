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
"""Plugins with bounds of their own for pods that concern them; others must not pay for them."""
PROFILES = pytest.mark.parametrize(
    ("without", "share"),
    [
        pytest.param(LATER, 1.0, id="node-level-plugins"),
        # Signing eight more, and all that is done once a plugin.
        pytest.param(frozenset(), 1.25, id="whole-default-profile"),
    ],
)
"""Plugins to leave out, and what of the bounds the rest may take."""


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


@PROFILES
def test_a_pod_unlike_any_before_costs_at_most_six_fit_passes(
    cluster: ClusterCache, without: frozenset[str], share: float
) -> None:
    """Requests, selector and tolerations of each pod are new, and half of the nodes fit."""
    cycle = cycle_of(cluster, without=without)

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
    report(f"a pod unlike any before, {_named(without)}", measured, 6 * share)
    assert measured.ratio <= 6 * share


@PROFILES
def test_a_pod_like_one_before_costs_at_most_one_fit_pass(
    cluster: ClusterCache, without: frozenset[str], share: float
) -> None:
    """Each pod is placed before the next is decided, so that one row has changed each time."""
    cycle = cycle_of(cluster, without=without)
    measured = measure((decide(cycle, pod(number)) for number in range(600)), assume(cluster))
    report(f"a pod whose signature was seen, {_named(without)}", measured, share)
    assert measured.ratio <= share


def _named(without: frozenset[str]) -> str:
    return "node-level plugins" if without else "whole default profile"
