"""What an update of a pod or node is called."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from moorage.model.changes import NO_CHANGE, node_changes, pod_changes
from moorage.model.events import ALL, ActionType, ClusterEvent, EventResource
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import (
    ContainerImage,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Taint,
)
from moorage.model.pod_info import PodInfo
from moorage.model.pods import (
    Container,
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Toleration,
)


def asking(**requests: str) -> PodSpec:
    """Make the spec of a pod with one container."""
    return PodSpec(containers=(Container(resources=ResourceRequirements(requests=requests)),))


GATES = (PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            Pod(metadata=ObjectMeta(resource_version="1", generation=1)),
            Pod(metadata=ObjectMeta(resource_version="2", generation=2)),
            NO_CHANGE,
            id="version",
        ),
        pytest.param(
            Pod(),
            Pod(status=PodStatus(conditions=(PodCondition(type="PodScheduled", status="False"),))),
            NO_CHANGE,
            id="status",
        ),
        pytest.param(
            Pod(),
            Pod(metadata=ObjectMeta(labels={"a": "b"})),
            ActionType.UPDATE_POD_LABEL,
            id="label",
        ),
        pytest.param(
            Pod(),
            Pod(spec=PodSpec(tolerations=(Toleration(operator="Exists"),))),
            ActionType.UPDATE_POD_TOLERATION,
            id="toleration",
        ),
        pytest.param(
            Pod(spec=PodSpec(tolerations=(Toleration(operator="Exists", toleration_seconds=1),))),
            Pod(spec=PodSpec(tolerations=(Toleration(operator="Exists", toleration_seconds=9),))),
            ActionType.UPDATE_OTHER,
            id="seconds-of-a-toleration",
        ),
        pytest.param(
            Pod(spec=asking(cpu="2", memory="1Gi")),
            Pod(spec=asking(cpu="1", memory="2Gi")),
            ActionType.UPDATE_POD_SCALE_DOWN,
            id="less-of-one-resource",
        ),
        pytest.param(
            Pod(spec=asking(cpu="1", memory="1Gi")),
            Pod(spec=asking(cpu="1")),
            ActionType.UPDATE_POD_SCALE_DOWN,
            id="one-resource-gone",
        ),
        pytest.param(
            Pod(spec=asking(cpu="1")),
            Pod(spec=asking(cpu="2")),
            ActionType.UPDATE_OTHER,
            id="scale-up",
        ),
        pytest.param(
            Pod(spec=PodSpec(scheduling_gates=GATES)),
            Pod(),
            ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            id="all-gates-gone",
        ),
        pytest.param(
            Pod(spec=PodSpec(scheduling_gates=GATES)),
            Pod(spec=PodSpec(scheduling_gates=GATES[:1])),
            ActionType.UPDATE_OTHER,
            id="one-gate-left",
        ),
        pytest.param(
            Pod(),
            Pod(metadata=ObjectMeta(deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))),
            ActionType.UPDATE_OTHER,
            id="terminating",
        ),
        pytest.param(
            Pod(spec=PodSpec(scheduling_gates=GATES)),
            Pod(metadata=ObjectMeta(labels={"a": "b"})),
            ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            id="two-at-once",
        ),
    ],
)
def test_changes_of_a_pod(old: Pod, new: Pod, expected: ActionType) -> None:
    """A pod's update bears the names of what differs, and none where nothing that counts does."""
    assert pod_changes(PodInfo(old), PodInfo(new)) == expected


def statuses(*conditions: NodeCondition, **allocatable: str) -> Node:
    """Make a node of a status alone."""
    return Node(status=NodeStatus(conditions=conditions, allocatable=allocatable))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            statuses(cpu="1"), statuses(cpu="2"), ActionType.UPDATE_NODE_ALLOCATABLE, id="cpu"
        ),
        pytest.param(statuses(cpu="1"), statuses(cpu="1000m"), NO_CHANGE, id="same-amount"),
        pytest.param(
            statuses(cpu="1"), statuses(cpu="?"), ActionType.UPDATE_NODE_ALLOCATABLE, id="nonsense"
        ),
        pytest.param(
            Node(),
            Node(metadata=ObjectMeta(labels={"a": "b"})),
            ActionType.UPDATE_NODE_LABEL,
            id="label",
        ),
        pytest.param(
            Node(spec=NodeSpec(taints=(Taint(key="a"),))),
            Node(),
            ActionType.UPDATE_NODE_TAINT,
            id="taint",
        ),
        pytest.param(
            Node(spec=NodeSpec(unschedulable=True)),
            Node(),
            ActionType.UPDATE_NODE_TAINT,
            id="uncordon",
        ),
        pytest.param(Node(), Node(spec=NodeSpec(unschedulable=True)), NO_CHANGE, id="cordon"),
        pytest.param(
            statuses(NodeCondition(type="Ready", status="False")),
            statuses(NodeCondition(type="Ready", status="True")),
            ActionType.UPDATE_NODE_CONDITION,
            id="condition",
        ),
        pytest.param(
            statuses(
                NodeCondition(type="Ready", status="True"),
                NodeCondition(type="Full", status="False"),
            ),
            statuses(
                NodeCondition(type="Full", status="False"),
                NodeCondition(type="Ready", status="True"),
            ),
            NO_CHANGE,
            id="order-of-conditions",
        ),
        pytest.param(
            Node(),
            Node(status=NodeStatus(declared_features=("X",))),
            ActionType.UPDATE_NODE_DECLARED_FEATURE,
            id="declared-feature",
        ),
        pytest.param(
            Node(metadata=ObjectMeta(resource_version="1")),
            Node(
                metadata=ObjectMeta(resource_version="2"),
                status=NodeStatus(images=(ContainerImage(names=("a",), size_bytes=1),)),
            ),
            NO_CHANGE,
            id="heartbeat-and-images",
        ),
    ],
)
def test_changes_of_a_node(old: Node, new: Node, expected: ActionType) -> None:
    """A node's update bears the names of what differs; a heartbeat has none."""
    assert node_changes(old, new) == expected


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(EventResource.NODE, ActionType.ADD), "NodeAdd"),
        (ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL), "NodeUpdateNodeLabel"),
        (ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE), "AssignedPodDelete"),
        (
            ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE_OTHER),
            "UnschedulablePodUpdate",
        ),
        (ClusterEvent("widgets.v1.example.com", ActionType.ADD), "widgets.v1.example.comAdd"),
        (ALL, "*All"),
    ],
)
def test_events_have_kube_scheduler_s_labels(event: ClusterEvent, label: str) -> None:
    """Dashboards that know kube-scheduler's labels find them."""
    assert event.label == label
