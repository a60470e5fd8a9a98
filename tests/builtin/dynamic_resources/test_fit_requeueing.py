"""Which events bring back a pod that NodeResourcesFit refused and whose resource means devices."""

from __future__ import annotations

from tests.builtin.dynamic_resources.devices_kit import device_class, pod

from moorage import ActionType, ClusterEvent, EventResource, QueueingHint
from moorage.model import DeviceClass, Node
from moorage.model.events import describes
from moorage.testing import Cluster, SinglePlugin, make_node

GPU = "example.com/gpu"
WAITING = pod("p", requests={GPU: "1", "cpu": "8"})
NODE, CLASS = EventResource.NODE, EventResource.DEVICE_CLASS
ADD, GROWS = ActionType.ADD, ActionType.UPDATE_NODE_ALLOCATABLE
CHANGES = ActionType.UPDATE_OTHER


def _retried(
    resource: EventResource,
    action: ActionType,
    before: Node | DeviceClass | None,
    after: Node | DeviceClass,
    *classes: DeviceClass,
) -> bool:
    made = Cluster(["n"])
    made.add(*classes)
    return any(
        describes(one.event, ClusterEvent(resource, action))
        and (one.hint is None or one.hint(WAITING, before, after) is QueueingHint.QUEUE)
        for one in SinglePlugin("NodeResourcesFit", made).events
    )


def test_node_with_room_comes_that_may_have_devices() -> None:
    """Devices are not seen in what a node has of the resource itself."""
    node = make_node("n", cpu="8")

    assert _retried(NODE, ADD, None, node, device_class(extendedResourceName=GPU))
    assert not _retried(NODE, ADD, None, node)
    assert not _retried(NODE, ADD, None, make_node("n"), device_class(extendedResourceName=GPU))


def test_node_changes_that_may_have_devices() -> None:
    """Even if it has no more of anything: kube-scheduler does not look further either."""
    node = make_node("n", cpu="8")

    assert _retried(NODE, GROWS, node, node, device_class(extendedResourceName=GPU))
    assert not _retried(NODE, GROWS, node, node)


def test_class_comes_to_stand_for_the_resource() -> None:
    """Whether it comes or changes; not if it did so before, or comes to stand for another."""
    named, other = (device_class(extendedResourceName=name) for name in (GPU, "example.com/x"))
    assert _retried(CLASS, ADD, None, named)
    assert _retried(CLASS, CHANGES, device_class(), named)
    assert not _retried(CLASS, CHANGES, named, named)
    assert not _retried(CLASS, CHANGES, named, device_class())
    assert not _retried(CLASS, ADD, None, other, named)


def test_class_comes_that_is_asked_for_by_its_name() -> None:
    """A pod can ask for its devices as soon as it is there."""
    one = pod("p", requests={"deviceclass.resource.kubernetes.io/gpu": "1"})
    hints = SinglePlugin("NodeResourcesFit", Cluster(["n"])).events
    (hint,) = (one.hint for one in hints if one.event.resource is CLASS)
    assert hint is not None

    assert hint(one, None, device_class("gpu")) is QueueingHint.QUEUE
    assert hint(one, None, device_class("fpga")) is QueueingHint.SKIP
