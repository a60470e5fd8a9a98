"""Where pods go, by what the API server tells of them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import msgspec
import pytest
from tests.loop_kit import World, added, deleted, listed, make_node, make_pod, modified

from moorage.binding import Reservation
from moorage.framework.verdict import Verdict
from moorage.framework.waiting_pods import WaitingPod
from moorage.model.pods import Pod
from moorage.queueing import Place
from moorage.session import Failure


@pytest.fixture
def world() -> World:
    """Make a session with one node of 4 cpu."""
    world = World()
    world.session.nodes.take(listed(make_node("n1")))
    return world


def refused(world: World) -> None:
    """Have a pod ``big`` refused for want of cpu, and its backoff pass."""
    world.session.pods.take(added(make_pod("big", cpu="9")))
    assert isinstance(world.session.attempt(), Failure)
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    world.clock.now += 20


def reserved(world: World) -> Reservation:
    """Try the next pod, which must get a node."""
    outcome = world.session.attempt()
    assert isinstance(outcome, Reservation)
    return outcome


def test_waiting_pod_of_ours_is_queued(world: World) -> None:
    """A pod without a node, for one of our profiles, is to be tried."""
    world.session.pods.take(added(make_pod("p")))
    assert world.queue.place("p") is Place.ACTIVE


def test_pod_on_a_node_is_in_the_cache_alone(world: World) -> None:
    """Whoever bound it, it uses its node."""
    world.session.pods.take(listed(make_pod("p", node="n1", profile="somebody-else")))
    assert world.cluster.node_of("p") == "n1"
    assert world.queue.place("p") is Place.OUTSIDE


def test_pod_for_a_name_that_nobody_serves_is_counted_and_ignored(world: World) -> None:
    """The count by name goes up and down with the pods."""
    pods = [make_pod("a", profile="other"), make_pod("b", profile="other")]
    world.session.pods.take(listed(*pods))
    assert world.session.pods.unserved == {"other": 2}
    assert world.queue.place("a") is Place.OUTSIDE
    world.session.pods.take(deleted(pods[0]))
    assert world.session.pods.unserved == {"other": 1}
    world.session.pods.take(modified(make_pod("b", profile="other", node="n1")))
    assert not world.session.pods.unserved


def test_pod_bound_by_somebody_else_leaves_the_queue(world: World) -> None:
    """It is dropped here, and counts on its node."""
    world.session.pods.take(added(make_pod("p")))
    world.session.pods.take(modified(make_pod("p", node="n1")))
    assert world.queue.place("p") is Place.OUTSIDE
    assert world.cluster.node_of("p") == "n1"
    assert world.session.attempt() is None


def test_own_binding_confirms_what_was_assumed(world: World) -> None:
    """The watch may tell before the answer to the binding comes: both orders end alike."""
    world.session.pods.take(added(make_pod("p")))
    reservation = reserved(world)
    assert world.cluster.is_assumed("p")
    world.session.pods.take(modified(make_pod("p", node="n1")))
    assert not world.cluster.is_assumed("p")
    world.session.bound(reservation)
    assert world.cluster.node_of("p") == "n1"
    world.check()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pod_that_ended_makes_room(world: World, phase: str) -> None:
    """It is taken off its node, and who waits for its room is woken."""
    world.session.pods.take(added(make_pod("p", node="n1")))
    world.session.pods.take(added(make_pod("q", cpu="4")))
    world.session.attempt()
    world.clock.now += 20
    world.session.pods.take(modified(make_pod("p", node="n1", phase=phase)))
    assert world.queue.place("q") is Place.ACTIVE
    assert world.cluster.pod_count == 0


def test_deleted_pod_makes_room(world: World) -> None:
    """So does one that is gone."""
    pod = make_pod("p", node="n1")
    world.session.pods.take(added(pod))
    world.session.pods.take(added(make_pod("q", cpu="4")))
    world.session.attempt()
    world.clock.now += 20
    world.session.pods.take(deleted(pod))
    assert world.queue.place("q") is Place.ACTIVE


def test_new_list_shows_what_is_gone(world: World) -> None:
    """What a relist lacks was deleted while nobody watched, waiting pods and others."""
    stays, goes, waits = make_pod("a", node="n1"), make_pod("b", node="n1"), make_pod("c")
    world.session.pods.take(listed(stays, goes, waits))
    world.session.pods.take(listed(stays))
    assert [info.key for info in world.cluster.pods()] == ["ns/a"]
    assert world.queue.place("c") is Place.OUTSIDE
    world.check()


def test_namesake_in_a_new_list_is_another_pod(world: World) -> None:
    """A pod that was deleted and made anew while nobody watched is two pods."""
    world.session.pods.take(listed(make_pod("p", uid="one", node="n1")))
    world.session.pods.take(listed(make_pod("p", uid="two")))
    assert world.cluster.pod("one") is None
    assert world.queue.place("two") is Place.ACTIVE


def test_update_that_may_help_wakes_the_pod_itself(world: World) -> None:
    """A waiting pod that asks for less is tried again."""
    world.session.pods.take(added(make_pod("big", cpu="9")))
    world.session.attempt()
    world.clock.now += 20
    found = world.queue.find("big")
    assert found is not None
    world.session.pods.take(modified(make_pod("big", cpu="9", labels={"a": "b"})))
    # Room has not registered for updates of the pod itself.
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    assert found.pod.metadata.labels == {"a": "b"}


def test_update_of_a_pod_that_was_bound_does_not_revive_it(world: World) -> None:
    """An update that was sent before the binding must not bring it back into the queue."""
    world.session.pods.take(added(make_pod("p")))
    reservation = reserved(world)
    world.session.bound(reservation)
    world.session.pods.take(modified(make_pod("p", labels={"late": "news"})))
    assert world.queue.place("p") is Place.OUTSIDE
    assert world.cluster.is_assumed("p")


def test_pod_deleted_after_its_binding_leaves_no_assumed_pod(world: World) -> None:
    """Bound, then gone before the watch told that it was bound."""
    pod = make_pod("p")
    world.session.pods.take(added(pod))
    reservation = reserved(world)
    world.session.bound(reservation)
    world.session.pods.take(deleted(pod))
    assert world.cluster.pod_count == 0


def test_pod_deleted_before_its_binding_is_known_leaves_no_assumed_pod(world: World) -> None:
    """Gone by the watch, then the answer that it was bound."""
    pod = make_pod("p")
    world.session.pods.take(added(pod))
    reservation = reserved(world)
    world.session.pods.take(deleted(pod))
    assert world.cluster.pod_count == 0
    world.session.bound(reservation)
    assert world.cluster.pod_count == 0
    world.check()


def ending(pod: Pod) -> Pod:
    """Make the version of a pod that says that it is being deleted."""
    metadata = msgspec.structs.replace(
        pod.metadata, resource_version="ending", deletion_timestamp=datetime.now(UTC)
    )
    return msgspec.structs.replace(pod, metadata=metadata)


@pytest.mark.parametrize("is_gone", [False, True])
def test_pod_that_ends_before_it_is_bound_gives_its_room_back_at_once(
    world: World, *, is_gone: bool
) -> None:
    """Its binding will fail, but may take minutes to find out; who needs the room is woken."""
    pod = make_pod("p", cpu="2")
    world.session.pods.take(added(pod))
    reservation = reserved(world)
    world.session.permitted(reservation)
    refused(world)
    world.session.pods.take(deleted(pod) if is_gone else modified(ending(pod)))
    assert world.cluster.pod_count == 0
    assert world.queue.place("big") is Place.ACTIVE
    failure = world.session.undo(reservation, Verdict.error("it is gone"))
    assert (failure.place is Place.OUTSIDE) == is_gone
    world.check()


def test_pod_that_waits_in_permit_and_begins_to_end_waits_no_longer(world: World) -> None:
    """A finalizer may keep it for long, but it will never be bound."""
    pod = make_pod("p", cpu="2")
    world.session.pods.take(added(pod))
    reservation = reserved(world)
    waiting = WaitingPod(reservation.info, "n1", {"Group": 60.0}, now=world.clock.now)
    world.services.waiting.add(waiting)
    world.session.pods.take(modified(ending(pod)))
    assert waiting.verdict == Verdict.unschedulable("removed")


def test_quantity_that_is_none_leaves_the_pod_out(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence that names the pod; everything else goes on."""
    with caplog.at_level(logging.ERROR):
        world.session.pods.take(added(make_pod("bad", cpu="much"), make_pod("good")))
    assert world.queue.place("good") is Place.ACTIVE
    assert world.queue.place("bad") is Place.OUTSIDE
    [record] = caplog.records
    assert "ns/bad" in record.getMessage()
    assert "'much'" in record.getMessage()


def test_nomination_of_the_status_is_taken_over(world: World) -> None:
    """By whomever it was written."""
    world.session.pods.take(added(make_pod("p", nominated="n1")))
    assert world.queue.nominator.node_of("p") == "n1"


def test_deleting_a_nominated_pod_wakes_who_waits_for_its_room(world: World) -> None:
    """Room is kept for it until then."""
    refused(world)
    pod = make_pod("expected", nominated="n1")
    world.session.pods.take(added(pod))
    world.session.pods.take(deleted(pod))
    assert world.queue.place("big") is Place.ACTIVE


def test_withdrawn_nomination_wakes_who_waits_for_its_room(world: World) -> None:
    """So does a nomination that is taken away."""
    refused(world)
    world.session.pods.take(added(make_pod("expected", cpu="4", nominated="n1")))
    world.session.pods.take(modified(make_pod("expected", cpu="4")))
    assert world.queue.place("big") is Place.ACTIVE


@pytest.mark.parametrize("elsewhere", ["", "n2"])
def test_pod_whose_nomination_others_change_is_tried_itself(world: World, elsewhere: str) -> None:
    """It may fit where it is not expected any more; being expected somewhere is no reason yet."""
    refused(world)
    world.session.pods.take(modified(make_pod("big", cpu="9", nominated="n1")))
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    world.session.pods.take(modified(make_pod("big", cpu="9", nominated=elsewhere)))
    assert world.queue.place("big") is Place.ACTIVE


def test_room_that_a_nomination_leaves_is_none_for_more_important_pods(world: World) -> None:
    """They did not have to leave it that room; waking them would be in vain."""
    for name, priority in (("lower", 1), ("same", 2), ("higher", 3)):
        world.session.pods.take(added(make_pod(name, cpu="9", priority=priority)))
        assert isinstance(world.session.attempt(), Failure)
    world.clock.now += 20
    pod = make_pod("expected", priority=2, nominated="n1")
    world.session.pods.take(added(pod))
    world.session.pods.take(deleted(pod))
    places = {name: world.queue.place(name) for name in ("lower", "same", "higher")}
    assert places == {
        "lower": Place.ACTIVE,
        "same": Place.ACTIVE,
        "higher": Place.UNSCHEDULABLE,
    }


def test_nomination_of_an_assumed_pod_is_not_counted_twice(world: World) -> None:
    """Our own patch comes back while the pod is on its node in the cache already."""
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    world.session.pods.take(modified(make_pod("p", nominated="n1")))
    assert world.cluster.is_assumed("p")
    assert world.queue.nominator.node_of("p") == ""


def test_heartbeat_of_a_running_pod_wakes_nobody(world: World) -> None:
    """A status heartbeat of a running pod is no event."""
    world.session.pods.take(added(make_pod("p", node="n1")))
    refused(world)
    world.session.pods.take(modified(make_pod("p", node="n1", phase="Running")))
    assert world.queue.place("big") is Place.UNSCHEDULABLE


def test_pod_that_loses_its_node_is_queued_again(world: World) -> None:
    """A restored backup may say so; the cache and the queue follow."""
    world.session.pods.take(listed(make_pod("p", node="n1")))
    world.session.pods.take(listed(make_pod("p")))
    assert world.cluster.pod_count == 0
    assert world.queue.place("p") is Place.ACTIVE


# What the metrics call it


def events_of(world: World, *steps: tuple[str, Pod]) -> list[str]:
    """Take pods in or out, one after another; return the events that the last one was."""
    heard: list[str] = []
    world.session.pods.on_event = lambda _, event: heard.append(event)
    for kind, pod in steps:
        heard.clear()
        world.session.pods.take({"+": added, "~": modified, "-": deleted}[kind](pod))
    return heard


def test_update_of_a_pod_on_a_node_is_an_event_though_it_wakes_nobody(world: World) -> None:
    """kube-scheduler takes it into its cache; what changed is told besides."""
    steps = ("+", make_pod("p", node="n1")), ("~", make_pod("p", node="n1", phase="Running"))
    assert events_of(world, *steps) == ["AssignedPodUpdate"]
    more = ("~", make_pod("p", node="n1", labels={"a": "b"}, cpu="500m"))
    assert events_of(world, more) == [
        "AssignedPodUpdate",
        "AssignedPodUpdatePodLabel",
        "AssignedPodUpdatePodScaleDown",
    ]


def test_update_of_a_waiting_pod_is_told_with_what_changed(world: World) -> None:
    """A status alone changes nothing that a plugin could wait for."""
    steps = ("+", make_pod("p")), ("~", make_pod("p", nominated="n1"))
    assert events_of(world, *steps) == ["UnschedulablePodUpdate"]
    assert events_of(world, ("~", make_pod("p", labels={"a": "b"}))) == [
        "UnschedulablePodUpdate",
        "UnschedulablePodUpdatePodLabel",
    ]


def test_binding_takes_a_waiting_pod_away_and_adds_one_to_a_node(world: World) -> None:
    """Two events for kube-scheduler; a pod of another's adds one alone."""
    steps = ("+", make_pod("p")), ("~", make_pod("p", node="n1"))
    assert set(events_of(world, *steps)) == {"UnschedulablePodDelete", "AssignedPodAdd"}
    assert events_of(world, ("+", make_pod("q", node="n1"))) == ["AssignedPodAdd"]
    theirs = make_pod("r", profile="other"), make_pod("r", profile="other", node="n1")
    assert events_of(world, ("+", theirs[0]), ("~", theirs[1])) == ["AssignedPodAdd"]


def test_waiting_pod_that_gives_up_its_node_is_deleted_and_no_more(world: World) -> None:
    """That others may have its room is no event of its own."""
    steps = ("+", make_pod("p", nominated="n1")), ("-", make_pod("p"))
    assert events_of(world, *steps) == ["UnschedulablePodDelete"]
