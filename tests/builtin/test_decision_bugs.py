"""Small inputs that schedulers have got wrong in public, with the right answers.

The names are those of the project's list of such reports (K#N: kubernetes/kubernetes issue N).
"""

from __future__ import annotations

import pytest
from tests.builtin.asking_plugins import ask
from tests.objects import make_node, make_pod, port, taint, toleration

from moorage import Code
from moorage.model import Container, ContainerPort, ResourceRequirements
from moorage.model.pods import ImageVolumeSource, Volume


def _container(name: str, cpu: str = "", *, restart: str | None = None) -> Container:
    requests = {"cpu": cpu} if cpu else {}
    return Container(
        name=name,
        image="app",
        resources=ResourceRequirements(requests=requests),
        restart_policy=restart,
    )


def test_r1_a_sidecar_counts_beside_the_init_container_after_it() -> None:
    """K#127868: init(sidecar 100m, then 200m), app 100m is 300m, and overhead comes on top."""
    init = (_container("sidecar", "100m", restart="Always"), _container("init", "200m"))

    plain = make_pod("p", containers=[_container("app", "100m")], init_containers=init)
    with_overhead = make_pod(
        "p", containers=[_container("app", "100m")], init_containers=init, overhead={"cpu": "50m"}
    )

    assert plain.requests.get("cpu") == 300
    assert with_overhead.requests.get("cpu") == 350


def test_r1_the_order_of_init_containers_matters() -> None:
    """A sidecar that starts after a large init container does not run beside it."""
    init = (_container("init", "200m"), _container("sidecar", "100m", restart="Always"))

    info = make_pod("p", containers=[_container("app", "50m")], init_containers=init)

    assert info.requests.get("cpu") == 200


def test_r2_requests_of_the_pod_as_a_whole_replace_those_of_containers() -> None:
    """For what they name, and overhead is added after."""
    containers = [_container("a", "3"), _container("b", "2")]
    resources = ResourceRequirements(requests={"cpu": "1"})

    info = make_pod("p", containers=containers, resources=resources, overhead={"cpu": "100m"})

    assert info.requests.get("cpu") == 1100


def test_r4_finished_init_containers_still_count() -> None:
    """K#124282: by design."""
    init = (_container("init", "2"),)

    info = make_pod("p", containers=[_container("app", "100m")], init_containers=init)

    assert info.requests.get("cpu") == 2000


def test_r5_scores_reckon_a_container_without_requests_with_100m_and_200mib() -> None:
    """K#130445: LeastAllocated sees such pods; BalancedAllocation and the filter do not."""
    nodes = [make_node("n1", allocatable={"cpu": "1", "memory": "1000Mi"}), make_node("n2")]
    there = [make_pod(f"there-{number}", node="n1") for number in range(2)]
    pod = make_pod("new")

    least = ask("NodeResourcesFit", nodes[:1], pod, pods=there)
    balanced = ask("NodeResourcesBalancedAllocation", nodes[:1], pod, pods=there)

    # cpu: 3 x 100m of 1000m; memory: 3 x 200 MiB of 1000 MiB: 70 and 40 are free.
    assert least.scores == [(70 + 40) // 2]
    assert balanced.scores is None
    assert least.refusals == [None]


def test_r6_best_effort_pods_are_not_balanced() -> None:
    """K#129138: they would all go to the one node that is most balanced already."""
    asked = ask(
        "NodeResourcesBalancedAllocation", [make_node("n1"), make_node("n2")], make_pod("p")
    )

    assert asked.scores is None


def test_r7_balance_scores_what_the_pod_improves() -> None:
    """K#129733: 1.36 compares the balance with the pod to that without it."""
    room = {"cpu": "10", "memory": "10Gi"}
    nodes = [make_node("cpu-heavy", allocatable=room), make_node("even", allocatable=room)]
    there = [make_pod("there", node="cpu-heavy", requests={"cpu": "5"})]
    pod = make_pod("new", requests={"memory": "5Gi"})

    asked = ask("NodeResourcesBalancedAllocation", nodes, pod, pods=there)

    # Deviation 0.25 -> 0 on the first: 75 + 25 / 2; 0 -> 0.25 on the second.
    assert asked.scores == [87, 62]


@pytest.mark.parametrize(
    ("wanted", "used", "conflict"),
    [
        pytest.param(port(8080, "10.1.1.1"), port(8080, "10.1.1.2"), False, id="two-addresses"),
        pytest.param(port(8080, "10.1.1.1"), port(8080, "10.1.1.1"), True, id="one-address"),
        pytest.param(port(53, protocol="TCP"), port(53, protocol="UDP"), False, id="protocols"),
        pytest.param(port(80, "0.0.0.0"), port(80, "10.1.1.1"), True, id="every-address-wanted"),  # noqa: S104 - data
        pytest.param(port(80, "10.1.1.1"), port(80, "0.0.0.0"), True, id="every-address-used"),  # noqa: S104 - data
        pytest.param(port(80), port(80, "10.1.1.1"), True, id="empty-means-every-address"),
        pytest.param(port(80), port(81), False, id="two-ports"),
    ],
)
def test_p1_ports_conflict_by_protocol_port_and_address(
    wanted: ContainerPort,
    used: ContainerPort,
    conflict: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """K#5874, K#39228, K#51950."""
    there = make_pod("there", node="n1", ports=[used])
    pod = make_pod("new", ports=[wanted])

    (refusal,) = ask("NodePorts", [make_node("n1")], pod, pods=[there]).refusals

    assert (refusal is not None) == conflict
    assert refusal is None or refusal.code is Code.UNSCHEDULABLE


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_n1_comparing_tolerations_tolerate_nothing_while_their_gate_is_off(operator: str) -> None:
    """TaintTolerationComparisonOperators is alpha in 1.36; 950 is above 900 all the same."""
    node = make_node("n1", taints=[taint("cost", "950")])
    pod = make_pod("p", tolerations=(toleration("cost", operator, "900"),))

    (refusal,) = ask("TaintToleration", [node], pod).refusals

    assert refusal is not None


def test_i1_an_image_volume_counts_in_the_sum_and_in_the_threshold() -> None:
    """K#138952: kube-scheduler 1.36 counts it in the sum alone, and scores it too high."""
    megabyte = 1024 * 1024
    node = make_node("n1", images={"app:latest": 400 * megabyte, "data:1": 623 * megabyte})
    volume = Volume(name="v", image=ImageVolumeSource(reference="data:1"))
    pod = make_pod("p", volumes=(volume,))

    asked = ask("ImageLocality", [node], pod)

    # (1023 - 23) of (2 x 1000 - 23) megabytes; with a threshold for one image it would be 100.
    assert asked.scores == [100 * 1000 // 1977]


def test_pods_are_no_resource_of_a_score() -> None:
    """kube-scheduler finds nothing allocatable by that name, and leaves it out of the mean."""
    args = {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": "pods", "weight": 5}, {"name": "cpu", "weight": 1}],
        }
    }
    node = make_node("n1", allocatable={"cpu": "4", "pods": "2"})

    asked = ask("NodeResourcesFit", [node], make_pod("p", requests={"cpu": "1"}), args=args)

    assert asked.scores == [25]
