"""Which events bring back a pod that a node-level plugin refused.

Named after the recorded cases of a real kube-scheduler 1.36 where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.builtin.asking_plugins import assemble
from tests.objects import (
    affinity,
    make_node,
    make_pod,
    port,
    requirement,
    taint,
    term,
    toleration,
)

from moorage import ActionType, ClusterEvent, EventResource, PodInfo, QueueingHint
from moorage.model import Container, Node, Pod, ResourceRequirements
from moorage.model.events import describes
from moorage.model.pods import ContainerRestartRule, PodSchedulingGate

NODE, ASSIGNED = EventResource.NODE, EventResource.ASSIGNED_POD
OWN = EventResource.UNSCHEDULED_POD
ADD, DELETE = ActionType.ADD, ActionType.DELETE


def _retried(
    plugin: str,
    pod: PodInfo,
    resource: EventResource,
    action: ActionType,
    before: Node | Pod | None,
    after: Node | Pod | None,
    args: Mapping[str, Any] | None = None,
) -> bool:
    framework = assemble(plugin, args)
    framework.register_events()
    return any(
        describes(hint.event, ClusterEvent(resource, action))
        and (hint.hint is None or hint.hint(pod.pod, before, after) is QueueingHint.QUEUE)
        for hint in framework.hints[plugin]
    )


# NodeResourcesFit

BIG = make_pod("big", requests={"cpu": "8"})


def _fit(*args: Any) -> bool:  # noqa: ANN401 - as _retried takes them
    return _retried("NodeResourcesFit", BIG, *args)


def test_fit_bigger_node_added() -> None:
    """A node with room for it brings the pod back."""
    assert _fit(NODE, ADD, None, make_node("n", allocatable={"cpu": "8"}))


def test_fit_small_node_added() -> None:
    """One that it can never fit does not."""
    assert not _fit(NODE, ADD, None, make_node("n"))


def test_fit_full_node_added_without_room_for_pods() -> None:
    """A pod needs its place among the pods as well."""
    assert not _fit(NODE, ADD, None, make_node("n", allocatable={"cpu": "8", "pods": "0"}))


def test_fit_allocatable_grows() -> None:
    """Of a resource that the pod asks for."""
    grown = make_node("n", allocatable={"cpu": "9"})

    assert _fit(NODE, ActionType.UPDATE_NODE_ALLOCATABLE, make_node("n"), grown)
    assert not _fit(
        NODE,
        ActionType.UPDATE_NODE_ALLOCATABLE,
        grown,
        make_node("n", allocatable={"cpu": "9", "memory": "99Gi"}),
    )


def test_fit_unrelated_label() -> None:
    """Labels make no room."""
    after = make_node("n", labels={"a": "b"}, allocatable={"cpu": "8"})

    assert not _fit(NODE, ActionType.UPDATE_NODE_LABEL, make_node("n"), after)


def test_fit_pod_deleted() -> None:
    """A pod that had a node; how much it frees is found out by trying, as in kube-scheduler."""
    assert _fit(ASSIGNED, DELETE, make_pod("p", node="n", requests={"cpu": "1"}).pod, None)
    assert not _fit(ASSIGNED, DELETE, make_pod("p", requests={"cpu": "1"}).pod, None)


def test_fit_pod_shrinks() -> None:
    """In a resource that the waiting pod asks for; growing helps nobody."""
    large, small = (make_pod("p", node="n", requests={"cpu": cpu}).pod for cpu in ("3", "1"))
    other = make_pod("p", node="n", requests={"cpu": "3", "memory": "1Gi"}).pod

    assert _fit(ASSIGNED, ActionType.UPDATE_POD_SCALE_DOWN, large, small)
    assert not _fit(ASSIGNED, ActionType.UPDATE_POD_SCALE_DOWN, small, large)
    assert not _fit(ASSIGNED, ActionType.UPDATE_POD_SCALE_DOWN, other, large)


def test_fit_pending_pod_shrinks() -> None:
    """The pod itself, asking for less."""
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": "1"}))
    spec = msgspec.structs.replace(BIG.pod.spec, containers=(container,))
    smaller = msgspec.structs.replace(BIG.pod, spec=spec)

    assert _fit(OWN, ActionType.UPDATE_POD_SCALE_DOWN, BIG.pod, smaller)


def test_fit_pending_pod_label_changed() -> None:
    """Its labels ask for nothing."""
    assert not _fit(OWN, ActionType.UPDATE_POD_LABEL, BIG.pod, BIG.pod)


def test_fit_ignored_resources_are_not_waited_for() -> None:
    """What the filter ignores is no reason to wait."""
    pod = make_pod("p", requests={"example.com/gpu": "1"})
    args = {"ignoredResources": ["example.com/gpu"]}

    assert _retried("NodeResourcesFit", pod, NODE, ADD, None, make_node("n"), args)
    assert not _retried("NodeResourcesFit", pod, NODE, ADD, None, make_node("n"))


# TaintToleration

TAINTED = make_node("n", taints=[taint("a")])


def test_taint_removed() -> None:
    """The node lets the pod in now."""
    pod = make_pod("p")
    action = ActionType.UPDATE_NODE_TAINT

    assert _retried("TaintToleration", pod, NODE, action, TAINTED, make_node("n"))
    assert not _retried("TaintToleration", pod, NODE, action, make_node("n"), make_node("n"))


def test_taint_tainted_node_added() -> None:
    """Unless the pod tolerates it."""
    tolerant = make_pod("p", tolerations=(toleration("a", "Exists"),))

    assert not _retried("TaintToleration", make_pod("p"), NODE, ADD, None, TAINTED)
    assert _retried("TaintToleration", tolerant, NODE, ADD, None, TAINTED)
    assert _retried("TaintToleration", make_pod("p"), NODE, ADD, None, make_node("n"))


def test_taint_unrelated_pod_deleted() -> None:
    """Pods have nothing to do with it."""
    gone = make_pod("gone", node="n").pod

    assert not _retried("TaintToleration", make_pod("p"), ASSIGNED, DELETE, gone, None)


def test_taint_own_tolerations_changed() -> None:
    """The pod's own, not another's."""
    pod = make_pod("p")
    action = ActionType.UPDATE_POD_TOLERATION

    assert _retried("TaintToleration", pod, OWN, action, pod.pod, pod.pod)
    assert not _retried("TaintToleration", pod, OWN, action, pod.pod, make_pod("q").pod)


# NodeUnschedulable


def test_unschedulable_uncordon() -> None:
    """The node is open now, and was not."""
    cordoned, pod = make_node("n", unschedulable=True), make_pod("p")
    action = ActionType.UPDATE_NODE_TAINT

    assert _retried("NodeUnschedulable", pod, NODE, action, cordoned, make_node("n"))
    assert not _retried("NodeUnschedulable", pod, NODE, action, make_node("n"), make_node("n"))
    assert not _retried("NodeUnschedulable", pod, NODE, ADD, None, cordoned)
    assert _retried("NodeUnschedulable", pod, NODE, ADD, None, make_node("n"))


def test_unschedulable_own_toleration_of_a_cordon() -> None:
    """Other tolerations do not help."""
    pod = make_pod("p")
    action = ActionType.UPDATE_POD_TOLERATION

    def with_toleration(key: str) -> Pod:
        tolerations = (toleration(key, "Exists"),)
        spec = msgspec.structs.replace(pod.pod.spec, tolerations=tolerations)
        return msgspec.structs.replace(pod.pod, spec=spec)

    cordon = with_toleration("node.kubernetes.io/unschedulable")
    assert _retried("NodeUnschedulable", pod, OWN, action, pod.pod, cordon)
    assert not _retried("NodeUnschedulable", pod, OWN, action, pod.pod, with_toleration("other"))


# NodeAffinity and NodeName


@pytest.fixture
def choosy() -> PodInfo:
    """Make a pod that wants a node with disk=ssd."""
    return make_pod("p", affinity=affinity(term(requirement("disk", "In", "ssd"))))


def test_node_affinity_label_set(choosy: PodInfo) -> None:
    """The node matches now, and did not."""
    ssd, action = make_node("n", labels={"disk": "ssd"}), ActionType.UPDATE_NODE_LABEL

    assert _retried("NodeAffinity", choosy, NODE, action, make_node("n"), ssd)
    assert not _retried("NodeAffinity", choosy, NODE, action, ssd, ssd)
    assert not _retried("NodeAffinity", choosy, NODE, action, ssd, make_node("n"))


def test_node_affinity_other_label_set(choosy: PodInfo) -> None:
    """It still does not match."""
    other, action = make_node("n", labels={"zone": "a"}), ActionType.UPDATE_NODE_LABEL

    assert not _retried("NodeAffinity", choosy, NODE, action, make_node("n"), other)


def test_node_affinity_matching_node_added(choosy: PodInfo) -> None:
    """Also where the configuration asks for more."""
    ssd = make_node("n", labels={"disk": "ssd"})
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    added = {"addedAffinity": required}

    assert _retried("NodeAffinity", choosy, NODE, ADD, None, ssd)
    assert not _retried("NodeAffinity", choosy, NODE, ADD, None, make_node("n"))
    assert not _retried("NodeAffinity", choosy, NODE, ADD, None, ssd, added)


def test_node_name_of_a_node_that_is_added() -> None:
    """The named one."""
    pod = make_pod("p", node="n1")

    assert _retried("NodeName", pod, NODE, ADD, None, make_node("n1"))
    assert not _retried("NodeName", pod, NODE, ADD, None, make_node("n2"))


# NodePorts


def test_ports_holder_deleted() -> None:
    """A pod that had a conflicting port; a bystander does not matter."""
    pod = make_pod("p", ports=[port(80)])

    def deleted(*ports: Any, node: str = "n") -> bool:  # noqa: ANN401 - ports
        gone = make_pod("gone", node=node, ports=ports).pod
        return _retried("NodePorts", pod, ASSIGNED, DELETE, gone, None)

    assert deleted(port(80, "10.1.1.1"))
    assert not deleted(port(81))
    assert not deleted(port(80, protocol="UDP"))
    assert not deleted()
    assert not deleted(port(80), node="")


def test_ports_node_added() -> None:
    """Its ports are free."""
    assert _retried("NodePorts", make_pod("p", ports=[port(80)]), NODE, ADD, None, make_node("n"))


# NodeDeclaredFeatures and SchedulingGates


def test_features_node_declares_something_else() -> None:
    """Whatever it is, and also a node that comes: kube-scheduler looks no further."""
    rules = (ContainerRestartRule(action="RestartAllContainers"),)
    pod = make_pod("p", containers=[Container(name="main", restart_policy_rules=rules)])
    able = make_node("n", features=["RestartAllContainersOnContainerExits"])
    action = ActionType.UPDATE_NODE_DECLARED_FEATURE

    assert _retried("NodeDeclaredFeatures", pod, NODE, action, make_node("n"), able)
    assert not _retried("NodeDeclaredFeatures", pod, NODE, action, able, able)
    other = make_node("n", features=["Other"])
    assert _retried("NodeDeclaredFeatures", pod, NODE, action, make_node("n"), other)
    assert _retried("NodeDeclaredFeatures", pod, NODE, ADD, None, make_node("n"))


def test_gates_removed() -> None:
    """The pod's own."""
    pod = make_pod("p", scheduling_gates=(PodSchedulingGate(name="wait"),))
    action = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED

    assert _retried("SchedulingGates", pod, OWN, action, pod.pod, pod.pod)
    assert not _retried("SchedulingGates", pod, OWN, action, pod.pod, make_pod("q").pod)


def test_gates_hold_a_pod_back_by_name() -> None:
    """In kube-scheduler's words."""
    gates = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))
    framework = assemble("SchedulingGates")

    verdict = framework.pre_enqueue(make_pod("p", scheduling_gates=gates).pod)

    assert verdict.message == "waiting for scheduling gates: [a b]"
    assert framework.pre_enqueue(make_pod("p").pod).is_success
