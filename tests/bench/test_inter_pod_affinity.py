"""How long a cycle takes for pods with inter-pod affinity at 5,000 nodes and 10,000 bound pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.bench.fit_pass import cluster_of, cycle_of, decide, measure, pod, report

from moorage.cache import ClusterCache
from moorage.cycle import Decision
from moorage.model import Namespace, Pod, TermKind

pytestmark = pytest.mark.bench

NODES = 5000
NAMESPACES = 100
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
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
    """Make 10,000 pods of 100 apps in 100 namespaces; each tenth avoids its own kind."""
    cluster = cluster_of(NODES, 0)
    for number in range(NAMESPACES):
        metadata = {"name": f"ns-{number}", "labels": {"team": "red"}}
        cluster.set_namespace(msgspec.convert({"metadata": metadata}, Namespace))
    for number in range(2 * NODES):
        app = f"app-{number % 100}"
        spec: dict[str, Any] = {"nodeName": f"node-{number % NODES}"}
        if number % 10 == 0:
            spec["affinity"] = required("podAntiAffinity", term(HOST, app))
        namespace = f"ns-{number // 100}"
        cluster.add_pod(pod(10**7 + number, spec, namespace=namespace, labels={"app": app}))
    return cluster


def term(key: str, app: str, *, never: int = 0) -> dict[str, Any]:
    """Make a term; `never` makes its selector one that was never seen."""
    expressions = [
        {"key": "app", "operator": "In", "values": [app]},
        {"key": "app", "operator": "NotIn", "values": [f"never-{never}"]},
    ]
    return {"topologyKey": key, "labelSelector": {"matchExpressions": expressions}}


def required(half: str, *terms: dict[str, Any]) -> dict[str, Any]:
    """Make affinity with required terms."""
    return {half: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def hostname_anti_affinity(number: int) -> dict[str, Any]:
    """Avoid the hosts of one app in the pod's namespace."""
    return required("podAntiAffinity", term(HOST, f"app-{number % 100}", never=number))


def zone_affinity(number: int) -> dict[str, Any]:
    """Seek the zones of one app in the pod's namespace."""
    return required("podAffinity", term(ZONE, f"app-{number % 100}", never=number))


def all_namespaces(number: int) -> dict[str, Any]:
    """Seek the zones of one app in 100 namespaces, chosen by a selector never seen."""
    teams = {"key": "team", "operator": "In", "values": ["red", f"blue-{number}"]}
    chosen = {"namespaceSelector": {"matchExpressions": [teams]}}
    return required("podAffinity", term(ZONE, f"app-{number % 100}", never=number) | chosen)


@pytest.mark.parametrize(
    ("affinity", "bound"),
    [
        pytest.param(hostname_anti_affinity, 12, id="one hostname anti-affinity"),
        pytest.param(zone_affinity, 12, id="one zone affinity"),
        pytest.param(all_namespaces, 16, id="a namespace selector over 100 namespaces"),
    ],
)
def test_a_pod_unlike_any_before_stays_within_its_bound(
    cluster: ClusterCache,
    affinity: Callable[[int], dict[str, Any]],
    bound: int,
    request: pytest.FixtureRequest,
) -> None:
    """One term with a selector never seen."""
    cycle = cycle_of(cluster, without=LATER)

    def pods() -> Iterator[Callable[[], Decision]]:
        for number in range(200):
            spec = {
                "tolerations": [{"key": f"key-{number}", "operator": "Exists"}],
                "affinity": affinity(number),
            }
            labels = {"app": f"new-{number}"}
            yield decide(cycle, pod(number, spec, namespace="ns-7", labels=labels))

    def after(decision: Decision) -> None:
        assert decision.node_name, decision.message
        cluster.assume(decision.info, decision.row)

    measured = measure(pods(), after)
    report(request.node.callspec.id, measured, bound)
    assert measured.ratio <= bound


def test_finding_the_terms_that_select_a_pod_costs_at_most_a_fit_pass(
    cluster: ClusterCache,
) -> None:
    """A thousand distinct terms are on nodes, of which one selects the pod."""
    nodes = cluster.view()
    wanted: list[Pod] = [
        pod(number, namespace=f"ns-{number % 100}", labels={"app": f"app-{number % 10 * 10}"}).pod
        for number in range(300)
    ]

    def finds() -> Iterator[Callable[[], Any]]:
        for one in wanted:
            yield lambda one=one: nodes.terms_selecting(one, TermKind.ANTI_AFFINITY)  # type: ignore[misc]

    def after(found: Any) -> None:  # noqa: ANN401 - what is measured
        assert sum(int(counts.counts.sum()) for counts in found) == 1

    measured = measure(finds(), after)
    report("terms that select a pod", measured, 1)
    assert measured.ratio <= 1
