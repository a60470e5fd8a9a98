"""Nodes come, change and go."""

from __future__ import annotations

import logging

import pytest
from tests.loop_kit import World, added, deleted, listed, make_node, make_pod, modified

from moorage.queueing import Place


@pytest.fixture
def world() -> World:
    """Make a session with one node, and a pod that did not fit on it."""
    world = World()
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("big", cpu="9")))
    world.session.attempt()
    world.clock.now += 20
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    return world


def test_new_node_wakes_who_may_fit(world: World) -> None:
    """Node/Add."""
    world.session.nodes.take(added(make_node("n2", cpu="16")))
    assert world.cluster.node_count == 2
    assert world.queue.place("big") is Place.ACTIVE


def test_node_that_grows_wakes_who_may_fit(world: World) -> None:
    """Node/UpdateNodeAllocatable."""
    world.session.nodes.take(modified(make_node("n1", cpu="16")))
    assert world.queue.place("big") is Place.ACTIVE


def test_change_that_nobody_registered_for_wakes_nobody(world: World) -> None:
    """A new label reaches the cache, and nobody who waits for cpu."""
    world.session.nodes.take(modified(make_node("n1", labels={"zone": "a"})))
    assert world.cluster.node(0).metadata.labels == {"zone": "a"}
    assert world.queue.place("big") is Place.UNSCHEDULABLE


def test_heartbeat_leaves_the_cache_alone(world: World) -> None:
    """A version that differs in nothing that is read would cost every kept answer about the node."""
    before = world.cluster.standing
    world.session.nodes.take(modified(make_node("n1")))
    assert world.cluster.standing == before


def test_deleted_node_is_in_no_view(world: World) -> None:
    """Its pods stay known until they go."""
    world.session.pods.take(added(make_pod("p", node="n1")))
    world.session.nodes.take(deleted(make_node("n1")))
    assert world.cluster.node_count == 0
    assert world.cluster.pod_count == 1
    world.check()


def test_new_list_shows_what_is_gone(world: World) -> None:
    """A relist stands for the deletions that nobody saw."""
    world.session.nodes.take(listed(make_node("n2")))
    assert [node.metadata.name for node in world.cluster.nodes()] == ["n2"]


def test_quantity_that_is_none_keeps_the_last_good_version(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence that names the node; everything else goes on."""
    with caplog.at_level(logging.ERROR):
        world.session.nodes.take(modified(make_node("n1", cpu="many"), make_node("n2", cpu="lots")))
    assert [node.status.allocatable for node in world.cluster.nodes()] == [{"cpu": "4"}]
    messages = [record.getMessage() for record in caplog.records]
    assert [name in message for name, message in zip(("n1", "n2"), messages, strict=True)] == [
        True,
        True,
    ]


def test_node_that_becomes_readable_is_new(world: World) -> None:
    """Left out until then, it wakes who waits for a node."""
    world.session.nodes.take(added(make_node("n2", cpu="lots")))
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    world.session.nodes.take(modified(make_node("n2", cpu="16")))
    assert world.queue.place("big") is Place.ACTIVE
