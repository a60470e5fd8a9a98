"""What a pod asks of a node: sums, init containers, resizes, requests of the pod as a whole."""

from __future__ import annotations

from moorage.model import Container, PodInfo
from moorage.model.pods import ContainerStatus, PodCondition, PodStatus, ResourceRequirements
from moorage.testing import make_pod

_INFEASIBLE = PodCondition(type="PodResizePending", status="True", reason="Infeasible")


def _asks(*, status: PodStatus | None = None, **spec: object) -> dict[str, int]:
    pod = make_pod("p", **spec)  # type: ignore[arg-type]  # any field of a PodSpec
    if status is not None:
        pod = type(pod)(metadata=pod.metadata, spec=pod.spec, status=status)
    return dict(PodInfo(pod).requests.amounts)


def _wants(**requests: str) -> ResourceRequirements:
    return ResourceRequirements(requests=requests)


def _container(name: str, *, restart_policy: str | None = None, **requests: str) -> Container:
    return Container(name=name, resources=_wants(**requests), restart_policy=restart_policy)


def _given(name: str, allocated: str, actual: str | None) -> ContainerStatus:
    return ContainerStatus(
        name=name,
        allocated_resources={"cpu": allocated},
        resources=None if actual is None else _wants(cpu=actual),
    )


def test_parts_of_a_byte_are_rounded_when_they_are_summed() -> None:
    """Two containers of half a byte need one byte, not two."""
    halves = (_container("a", memory="500m"), _container("b", memory="500m"))
    assert _asks(containers=halves) == {"memory": 1}


def test_sums_are_capped_at_what_the_api_can_say() -> None:
    """A sum beyond 63 bits counts as the largest number of 63 bits."""
    halves = (_container("a", memory="8E"), _container("b", memory="8E"))
    assert _asks(containers=halves) == {"memory": 2**63 - 1}


def test_each_container_counts_by_its_own_largest_amount_while_it_is_resized() -> None:
    """One that grows counts as it will be, beside one that shrinks, which counts as it is."""
    status = PodStatus(container_statuses=(_given("a", "1", "1"), _given("b", "3", "2")))
    containers = (_container("a", cpu="2"), _container("b", cpu="1"))
    assert _asks(containers=containers, status=status) == {"cpu": 5000}


def test_what_was_allocated_counts_once_it_is_known_what_is_in_use() -> None:
    """Without actual resources in the status, only what is desired counts."""
    containers = (_container("a", cpu="1"),)
    status = PodStatus(container_statuses=(_given("a", "3", None),))
    assert _asks(containers=containers, status=status) == {"cpu": 1000}


def test_what_is_desired_does_not_count_where_it_is_infeasible() -> None:
    """A node that cannot grow a container keeps it as it was given and is."""
    status = PodStatus(conditions=(_INFEASIBLE,), container_statuses=(_given("a", "2", "1"),))
    assert _asks(containers=(_container("a", cpu="9"),), status=status) == {"cpu": 2000}


def test_sidecars_are_resized_and_other_init_containers_are_not() -> None:
    """The status of an init container that is to end says nothing about what a pod needs."""
    inits = (_container("i", cpu="1"), _container("s", cpu="1", restart_policy="Always"))
    status = PodStatus(init_container_statuses=(_given("i", "9", "9"), _given("s", "2", "2")))
    assert _asks(containers=(), init_containers=inits, status=status) == {"cpu": 2000}


def test_requests_of_the_pod_as_a_whole_are_resized_as_those_of_a_container() -> None:
    """The largest of desired, actual and allocated counts, for what the pod asks as a whole."""
    status = PodStatus(
        resources=_wants(cpu="2", memory="9Gi"), allocated_resources={"cpu": "3", "memory": "9Gi"}
    )
    containers = (_container("a", cpu="1", memory="1Gi"),)
    asked = _asks(
        containers=containers, resources=_wants(cpu="1"), overhead={"cpu": "1"}, status=status
    )
    assert asked == {"cpu": 4000, "memory": 2**30}


def test_an_infeasible_resize_of_the_pod_counts_as_what_it_has() -> None:
    """What the status does not name has not been given: it counts for nothing."""
    status = PodStatus(conditions=(_INFEASIBLE,), resources=_wants(memory="1Gi"))
    asked = _asks(
        containers=(_container("a", cpu="1"),),
        resources=_wants(cpu="2", memory="2Gi"),
        status=status,
    )
    assert asked == {"cpu": 0, "memory": 2**30}


def test_a_container_that_was_given_nothing_counts_for_nothing_where_more_is_infeasible() -> None:
    """What it desires is out of the question."""
    nothing = ContainerStatus(name="a", allocated_resources={}, resources=ResourceRequirements())
    status = PodStatus(conditions=(_INFEASIBLE,), container_statuses=(nothing,))
    assert _asks(containers=(_container("a", cpu="9"),), status=status) == {}


def test_pods_that_ask_for_the_same_share_what_was_reckoned() -> None:
    """Most pods are made from few templates."""
    first, second = (PodInfo(make_pod(name, cpu="250m", memory="1Gi")) for name in ("a", "b"))
    assert first.requests is second.requests
