"""Objects in one call: what an API server would have made of them."""

from __future__ import annotations

import pytest

from moorage.model import PodInfo, Taint, Toleration
from moorage.testing import (
    from_manifest,
    make_affinity,
    make_namespace,
    make_node,
    make_pod,
    make_service,
    make_taint,
    make_toleration,
)


def test_a_pod_has_the_requests_that_are_asked_for() -> None:
    """By the two short names, and by name for the others."""
    pod = make_pod(cpu="100m", memory="1Gi", requests={"example.com/gpu": "2"})

    assert dict(PodInfo(pod).requests.amounts) == {
        "cpu": 100,
        "memory": 1024**3,
        "example.com/gpu": 2,
    }


def test_two_pods_of_one_name_are_two_pods() -> None:
    """Each has a uid of its own, unless one is given."""
    assert make_pod("a").metadata.uid != make_pod("a").metadata.uid
    assert make_pod("a", uid="u").metadata.uid == "u"


def test_a_pod_on_a_node_runs() -> None:
    """And one on none is pending."""
    assert make_pod(node="n1").status.phase == "Running"
    assert make_pod().status.phase == "Pending"


def test_any_field_of_a_spec_can_be_given() -> None:
    """By the name that it has in Python."""
    assert make_pod(scheduler_name="batch", host_network=True).spec.scheduler_name == "batch"


def test_host_ports_are_numbers() -> None:
    """The common case is short."""
    (port,) = PodInfo(make_pod(host_ports=[80])).host_ports

    assert (port.port, port.protocol) == (80, "TCP")


def test_a_node_has_its_name_as_label_and_room() -> None:
    """As kubelet labels it."""
    node = make_node("n1", zone="a", allocatable={"example.com/gpu": "2"}, pods=7)

    assert node.metadata.labels == {
        "kubernetes.io/hostname": "n1",
        "topology.kubernetes.io/zone": "a",
    }
    assert node.status.allocatable["cpu"] == "4"
    assert node.status.allocatable["example.com/gpu"] == "2"
    assert node.status.allocatable["pods"] == "7"


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("gpu=true:NoSchedule", Taint(key="gpu", value="true", effect="NoSchedule")),
        ("gpu:NoExecute", Taint(key="gpu", effect="NoExecute")),
    ],
)
def test_taints_are_written_as_kubectl_takes_them(text: str, taint: Taint) -> None:
    """With a value, or without."""
    assert make_taint(text) == taint
    assert make_node("n", taints=[text]).spec.taints == (taint,)


def test_what_is_no_taint_is_refused() -> None:
    """A key is the least."""
    with pytest.raises(ValueError, match="no taint"):
        make_taint("gpu")


@pytest.mark.parametrize(
    ("text", "toleration"),
    [
        ("", Toleration(operator="Exists")),
        ("gpu", Toleration(key="gpu", operator="Exists")),
        ("gpu:NoSchedule", Toleration(key="gpu", operator="Exists", effect="NoSchedule")),
        (
            "gpu=true:NoSchedule",
            Toleration(key="gpu", operator="Equal", value="true", effect="NoSchedule"),
        ),
    ],
)
def test_tolerations_are_written_like_taints(text: str, toleration: Toleration) -> None:
    """What is left out is tolerated whatever it is."""
    assert make_toleration(text) == toleration
    assert make_pod(tolerations=[text]).spec.tolerations == (toleration,)


def test_affinity_says_only_what_was_asked_for() -> None:
    """An empty part is no part."""
    affinity = make_affinity(nodes={"zone": ["a"]}, away_from={"host": {"app": "web"}})

    assert affinity.node_affinity is not None
    assert not affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    assert affinity.pod_affinity is None
    assert affinity.pod_anti_affinity is not None
    (term,) = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
    assert term.topology_key == "host"
    assert make_affinity() == type(affinity)()


def test_namespaces_and_services_have_what_selectors_look_at() -> None:
    """The name of a namespace is a label of it."""
    assert make_namespace("a").metadata.labels == {"kubernetes.io/metadata.name": "a"}
    assert make_service("s", selector={"app": "web"}).spec.selector == {"app": "web"}


def test_a_manifest_may_be_yaml() -> None:
    """As it stands in a file."""
    pod = from_manifest("{kind: Pod, metadata: {name: a}, spec: {nodeName: n1}}")

    assert (pod.metadata.namespace, pod.spec.node_name) == ("default", "n1")


def test_other_kinds_are_refused() -> None:
    """By name."""
    with pytest.raises(ValueError, match="'Job' is not read"):
        from_manifest({"kind": "Job"})
