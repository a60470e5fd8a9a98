"""Namespaces, and objects of kinds that only plugins know."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.loop_kit import World, added, deleted, listed, make_node, make_pod, modified

import moorage
from moorage.feed import InformedFeed
from moorage.framework.informing import InformedKind
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.meta import Namespace, ObjectMeta
from moorage.queueing import Place

RACKS = InformedKind("example.com", "v1", "racks")


class Registered(moorage.Plugin):
    """Refuses every pod; waits for racks that say so, and for namespaces' labels."""

    @moorage.hookimpl
    def events_to_register(self) -> tuple[moorage.EventHint, ...]:
        """Register for racks, with a hint, and for namespaces."""
        return (
            moorage.EventHint(ClusterEvent(RACKS.event_resource, ActionType.ALL), self.helps),
            moorage.EventHint(ClusterEvent(EventResource.NAMESPACE, ActionType.UPDATE)),
        )

    def helps(self, pod: moorage.Pod, old: Any, new: Any) -> moorage.QueueingHint:  # noqa: ANN401 - any object
        """Queue where the rack is free."""
        free = new is not None and new["spec"]["free"]
        return moorage.QueueingHint.QUEUE if free else moorage.QueueingHint.SKIP

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> np.ndarray[Any, Any]:
        """Refuse."""
        return np.zeros(len(nodes), dtype=np.bool_)


def refused() -> World:
    """Make a session with a pod that the plugin refused."""
    world = World(Registered=Registered)
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    world.clock.now += 20
    assert world.queue.place("p") is Place.UNSCHEDULABLE
    return world


def rack(name: str, *, free: bool) -> dict[str, Any]:
    """Make a custom object."""
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"free": free}}


def racks(world: World) -> tuple[moorage.Informer, InformedFeed]:
    """Make the informer of racks and its feed."""
    informer = world.services.informers.get(RACKS)
    return informer, world.session.informed(informer)


def test_custom_objects_are_stored_and_dropped() -> None:
    """The informer holds what the last batches said, also what a new list lacks."""
    informer, feed = racks(refused())
    feed.take(listed(rack("a", free=False), rack("b", free=False)))
    feed.take(deleted(rack("a", free=False)))
    assert [item["metadata"]["name"] for item in informer] == ["b"]
    feed.take(listed(rack("c", free=False)))
    assert informer.get("b", "ns") is None
    assert informer.get("c", "ns") is not None


def test_custom_objects_reach_the_hints() -> None:
    """The hint sees the object before and after, and decides."""
    world = refused()
    _, feed = racks(world)
    feed.take(added(rack("a", free=False)))
    assert world.queue.place("p") is Place.UNSCHEDULABLE
    feed.take(modified(rack("a", free=True)))
    assert world.queue.place("p") is Place.ACTIVE


def test_namespaces_are_kept_and_wake_by_labels_alone() -> None:
    """A namespace that changes otherwise is no event."""
    world = refused()
    feed = world.session.namespaces
    feed.take(listed(Namespace(metadata=ObjectMeta(name="ns"))))
    feed.take(modified(Namespace(metadata=ObjectMeta(name="ns", resource_version="2"))))
    assert world.queue.place("p") is Place.UNSCHEDULABLE
    labelled = Namespace(metadata=ObjectMeta(name="ns", labels={"team": "a"}))
    feed.take(modified(labelled))
    assert world.queue.place("p") is Place.ACTIVE
    assert world.cluster.namespaces == {"ns": labelled}
    feed.take(listed())
    assert not world.cluster.namespaces


def test_a_batch_can_be_taken_step_by_step() -> None:
    """After each object everything is consistent, so that a long list can be interrupted."""
    world = refused()
    steps = world.session.nodes.steps(listed(*(make_node(f"m{index}") for index in range(3))))
    counts = []
    for _ in steps:
        world.check()
        counts.append(world.cluster.node_count)
    assert counts == [0, 1, 2, 3]
