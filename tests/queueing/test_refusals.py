"""Pods that wait, counted by who refused them: ``scheduler_unschedulable_pods``."""

from __future__ import annotations

import pytest
from tests.queueing.queue_fakes import NODE_ADDED, NODE_LABEL, PROFILE, World, node, pod

from moorage.framework.requeue import RequeueRequest


@pytest.fixture
def world() -> World:
    """Make a queue with one profile."""
    return World()


def counts(world: World) -> dict[str, int]:
    """Return the counts by plugin."""
    world.queue.check_invariants()
    return {plugin: count for (_, plugin), count in world.queue.refused_counts().items()}


def test_every_plugin_that_refused_a_pod_counts_it(world: World) -> None:
    """Those that are pending as well; the profile is told along."""
    world.refused(pod("a"), "Fit", "Taint")
    world.refused(pod("b"), "Fit", pending=("External",))
    assert counts(world) == {"Fit": 2, "Taint": 1, "External": 1}
    assert {profile for profile, _ in world.queue.refused_counts()} == {PROFILE}


def test_a_pod_counts_until_it_is_tried_again(world: World) -> None:
    """Backing off or active, it is still a pod that this plugin refused."""
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert counts(world) == {"Fit": 1}
    world.clock.now += 10
    world.queue.tick()
    assert counts(world) == {"Fit": 1}
    world.popped()
    assert counts(world) == {"Fit": 0}


def test_a_pod_that_goes_counts_no_more(world: World) -> None:
    """Wherever it waits when it is deleted."""
    for name, place in (("a", "waits"), ("b", "active")):
        world.refused(pod(name), "Fit", pending=("External",))
        if place == "active":
            world.queue.move(NODE_LABEL, None, node(helps="yes"))
    for name in "ab":
        world.queue.delete(pod(name))
    assert counts(world) == {"Fit": 0, "External": 0}


def test_a_gate_counts_beside_those_who_refused_before(world: World) -> None:
    """However often it is asked, and until the pod is tried."""
    world.profile.closed = False
    world.refused(pod("p", labels={"gate": "Gate"}), "Fit")
    world.profile.closed = True
    world.queue.activate(["ns/p"])
    world.queue.activate(["ns/p"])
    assert counts(world) == {"Fit": 1, "Gate": 1}
    world.profile.closed = False
    world.queue.activate(["ns/p"])
    assert counts(world) == {"Fit": 1, "Gate": 1}
    world.popped()
    assert counts(world) == {"Fit": 0, "Gate": 0}


def test_a_pod_that_met_an_error_counts_for_nobody(world: World) -> None:
    """Nobody refused it."""
    world.refused(pod("p"), "Fit")
    world.queue.activate(["ns/p"])
    world.queue.requeue(world.popped(), RequeueRequest.error())
    assert counts(world) == {"Fit": 0}
