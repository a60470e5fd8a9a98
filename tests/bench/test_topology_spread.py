"""How long a cycle takes for pods with topology spread constraints at 5,000 nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.bench.fit_pass import cluster_of, cycle_of, decide, measure, pod, report

from moorage.cache import ClusterCache
from moorage.cycle import Decision
from moorage.model import Requirement, Selector

pytestmark = pytest.mark.bench

NODES = 5000
LATER = frozenset(
    {
        "DefaultPreemption",
        "DynamicResources",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)


@pytest.fixture
def cluster() -> ClusterCache:
    """Make 5,000 nodes in 3 zones with 10,000 pods of 100 apps."""
    return cluster_of(NODES, 2)


def assume(cluster: ClusterCache) -> Callable[[Decision], None]:
    """Return what follows a decision in the runner: the pod is counted on its node."""

    def after(decision: Decision) -> None:
        assert decision.node_name, decision.message
        cluster.assume(decision.info, decision.row)

    return after


def spread(number: int, topology_key: str, when_unsatisfiable: str) -> dict[str, Any]:
    """Constrain a pod of which no other shares selector, requests or tolerations."""
    return {
        "tolerations": [{"key": f"key-{number}", "operator": "Exists"}],
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app-1:v1",
                "resources": {"requests": {"cpu": f"{200 + number}m", "memory": "1Gi"}},
            }
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 40,
                "topologyKey": topology_key,
                "whenUnsatisfiable": when_unsatisfiable,
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": [f"app-{number % 100}", "x"]},
                        {"key": f"never-{number}", "operator": "DoesNotExist"},
                    ]
                },
            }
        ],
    }


@pytest.mark.parametrize(
    ("topology_key", "when_unsatisfiable"),
    [
        pytest.param("topology.kubernetes.io/zone", "DoNotSchedule", id="hard-zone"),
        pytest.param("kubernetes.io/hostname", "DoNotSchedule", id="hard-hostname"),
        pytest.param("topology.kubernetes.io/zone", "ScheduleAnyway", id="soft-zone"),
        pytest.param("kubernetes.io/hostname", "ScheduleAnyway", id="soft-hostname"),
    ],
)
def test_a_pod_unlike_any_before_costs_at_most_twelve_fit_passes(
    cluster: ClusterCache, topology_key: str, when_unsatisfiable: str
) -> None:
    """One constraint with a selector never seen, over 10,000 bound pods."""
    cycle = cycle_of(cluster, without=LATER)

    def pods() -> Iterator[Callable[[], Decision]]:
        for number in range(200):
            spec = spread(number, topology_key, when_unsatisfiable)
            yield decide(cycle, pod(number, spec, labels={"app": f"app-{number % 100}"}))

    measured = measure(pods(), assume(cluster))
    report(f"one constraint, {when_unsatisfiable} over {topology_key}", measured, 12)
    assert measured.ratio <= 12


def test_counting_for_a_selector_never_seen_costs_at_most_three_fit_passes() -> None:
    """No two of 10,000 pods have the same labels."""
    cluster = cluster_of(NODES, 0)
    for number in range(10_000):
        spec = {"nodeName": f"node-{number % NODES}"}
        cluster.add_pod(
            pod(number, spec, labels={"app": f"app-{number % 50}", "name": f"pod-{number}"})
        )
    nodes = cluster.view()

    def selectors() -> Iterator[Callable[[], object]]:
        for number in range(300):
            selector = Selector(
                (
                    Requirement("app", "In", frozenset({f"app-{number % 50}"})),
                    Requirement("name", "NotIn", frozenset({f"pod-{number}"})),
                )
            )
            yield partial(nodes.matching_pods, frozenset({"default"}), selector, terminating=False)

    measured = measure(selectors(), lambda _: None)
    report("counts for a selector never seen", measured, 3)
    assert measured.ratio <= 3
