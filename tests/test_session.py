"""Events in, decisions out: the whole scheduler but for its edges, in virtual time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.loop_kit import (
    PROFILE,
    World,
    added,
    deleted,
    listed,
    make_node,
    make_pod,
    modified,
    scripted,
)

import moorage
from moorage.binding import Reservation
from moorage.queueing import Place
from moorage.session import Failure, Session

INLINE = ("reserve", "unreserve", "permit")


def world_with(*pods: str, answers: dict[str, Any] | None = None) -> tuple[World, list[str]]:
    """Make a session with a node of 4 cpu, pods of 1 cpu, and plugins A and B that follow a script."""
    log: list[str] = []
    follower = scripted(INLINE, answers or {}, log)
    world = World(A=follower, B=follower)
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(*map(make_pod, pods)))
    return world, log


def reserved(world: World) -> Reservation:
    """Try the next pod, which must get a node."""
    outcome = world.session.attempt()
    assert isinstance(outcome, Reservation)
    return outcome


def failed(world: World) -> Failure:
    """Try the next pod, which must get none."""
    outcome = world.session.attempt()
    assert isinstance(outcome, Failure)
    return outcome


def test_pods_are_assumed_reserved_and_permitted_one_after_the_other() -> None:
    """The next pod is looked at only when all of that is done for the one before."""
    world, log = world_with("p", "q")
    reservation = reserved(world)
    assert log == ["A.reserve", "B.reserve", "A.permit", "B.permit"]
    assert reservation.info.pod.spec.node_name == "n1"
    assert world.cluster.is_assumed("p")
    reserved(world)
    assert world.session.attempt() is None
    world.check()


def test_pod_without_a_node_is_reported_as_kube_scheduler_words_it() -> None:
    """The message of the PodScheduled condition, and where the queue keeps the pod."""
    world, _ = world_with()
    world.session.pods.take(added(make_pod("big", cpu="9")))
    failure = failed(world)
    assert failure.reason == "Unschedulable"
    assert failure.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert failure.place is Place.UNSCHEDULABLE


def test_pod_that_finds_no_nodes_waits_for_one() -> None:
    """No plugin refused it; it is tried again when a node comes, and not before."""
    world = World()
    world.session.pods.take(added(make_pod("p")))
    failure = failed(world)
    assert failure.message == "no nodes available to schedule pods"
    assert failure.place is Place.UNSCHEDULABLE
    world.clock.now += 20
    assert world.session.attempt() is None
    world.session.nodes.take(added(make_node("n1")))
    assert reserved(world).node_name == "n1"


@pytest.mark.parametrize(
    ("hook", "code", "message", "place"),
    [
        ("B.reserve", "rejection", "0/1 nodes are available: 1 no.", Place.UNSCHEDULABLE),
        ("B.permit", "rejection", "0/1 nodes are available: 1 no.", Place.UNSCHEDULABLE),
        ("B.reserve", "error", 'running Reserve plugin "B": no', Place.BACKOFF),
        ("B.permit", "error", 'running Permit plugin "B": no', Place.BACKOFF),
        (
            "B.reserve",
            "raised",
            "plugin 'B' (tests) raised in reserve: ValueError: no",
            Place.BACKOFF,
        ),
        (
            "B.permit",
            "raised",
            "plugin 'B' (tests) raised in permit: ValueError: no",
            Place.BACKOFF,
        ),
        (
            "B.reserve",
            "nonsense",
            "plugin 'B' (tests) returned int from reserve, which takes a Verdict or None",
            Place.BACKOFF,
        ),
    ],
)
def test_whatever_goes_wrong_before_permit_is_over_is_undone(
    hook: str, code: str, message: str, place: Place
) -> None:
    """Unreserve of all in reverse order, the pod off its node, the plugin named."""
    answer = {
        "rejection": moorage.Verdict.unschedulable("no"),
        "error": moorage.Verdict.error("no"),
        "raised": ValueError("no"),
        "nonsense": 7,
    }[code]
    world, log = world_with("p", answers={hook: answer})
    failure = failed(world)
    assert failure.message == message
    assert failure.reason == ("Unschedulable" if code == "rejection" else "SchedulerError")
    assert failure.place is place
    assert log[-3:] == [hook, "B.unreserve", "A.unreserve"]
    assert world.cluster.pod_count == 0
    world.check()


def test_refused_reservation_is_retried_on_events_of_its_plugin() -> None:
    """It is not retried at once: its own room coming free does not help it."""
    world, _ = world_with("p", answers={"A.reserve": moorage.Verdict.unschedulable("no")})
    failed(world)
    assert world.session.attempt() is None
    found = world.queue.find("p")
    assert found is not None
    assert found.unschedulable_plugins == {"A"}


def test_unreserve_that_raises_keeps_nobody_from_unreserving(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged by name, and the others are called."""
    answers = {"A.permit": ValueError("no"), "B.unreserve": KeyError("lost")}
    world, log = world_with("p", answers=answers)
    with caplog.at_level(logging.ERROR):
        failed(world)
    assert log[-2:] == ["B.unreserve", "A.unreserve"]
    assert "raised in unreserve: KeyError: 'lost'" in caplog.text
    assert "Traceback" not in caplog.text


def test_tracebacks_are_for_verbosity_4(caplog: pytest.LogCaptureFixture) -> None:
    """Below that, a fault is one sentence."""
    answers = {"A.permit": ValueError("no"), "B.unreserve": KeyError("lost")}
    world, _ = world_with("p", answers=answers)
    with caplog.at_level(5):
        failed(world)
    assert "Traceback" in caplog.text


def test_bound_pod_stays_assumed_until_the_watch_tells() -> None:
    """Its room is taken all the while."""
    world, _ = world_with("p")
    reservation = reserved(world)
    world.session.permitted(reservation)
    world.session.bound(reservation)
    assert world.queue.place("p") is Place.OUTSIDE
    assert world.cluster.is_assumed("p")
    world.session.pods.take(modified(make_pod("p", node="n1")))
    assert not world.cluster.is_assumed("p")
    assert world.cluster.pod_count == 1


def test_failed_binding_frees_its_room_for_others_and_is_retried() -> None:
    """AssignedPod/Delete wakes who waits for the room; the pod itself goes to backoff."""
    world, log = world_with("p")
    reservation = reserved(world)
    world.session.permitted(reservation)
    world.session.pods.take(added(make_pod("waits", cpu="4")))
    failed(world)
    world.clock.now += 20
    failure = world.session.undo(reservation, moorage.Verdict.error("no answer").of("Binder"))
    assert failure.place is Place.BACKOFF
    assert failure.reason == "SchedulerError"
    assert world.queue.place("waits") is Place.ACTIVE
    assert log[-2:] == ["B.unreserve", "A.unreserve"]
    world.check()


def test_rejection_in_permit_does_not_wake_its_own_pod() -> None:
    """The room that it gives back is what it had: Room registers deletions, and is not asked."""
    waits = moorage.Verdict.wait(30)
    world, _ = world_with("p", answers={"A.permit": waits})
    reservation = reserved(world)
    refusal = moorage.Verdict.unschedulable("group is incomplete").of("Room")
    failure = world.session.undo(reservation, refusal)
    assert failure.place is Place.UNSCHEDULABLE
    assert failure.message == "0/1 nodes are available: 1 group is incomplete."


def test_refusal_after_permit_waits_for_time_not_for_an_event() -> None:
    """Nobody keeps events for the pod any more; it says what the plugin said, and nothing of nodes."""
    world, _ = world_with("p")
    reservation = reserved(world)
    world.session.permitted(reservation)
    failure = world.session.undo(reservation, moorage.Verdict.unschedulable("no").of("A"))
    assert failure.place is Place.BACKOFF
    assert (failure.reason, failure.message) == ("Unschedulable", "no")
    assert reservation.queued.error_count == 1
    assert reservation.queued.unschedulable_plugins == frozenset()


def test_waiting_pod_holds_its_node_until_its_time_is_over() -> None:
    """The shortest wait counts; the refusal names plugin and time."""
    answers = {"A.permit": moorage.Verdict.wait(90), "B.permit": moorage.Verdict.wait(300)}
    world, _ = world_with("p", answers=answers)
    reservation = reserved(world)
    assert reservation.waiting is not None
    assert reservation.waiting.pending_plugins == {"A", "B"}
    assert world.session.next_at() == world.clock.now + 90
    world.clock.now += 90
    world.session.tick()
    verdict = reservation.waiting.verdict
    assert verdict is not None
    assert verdict.plugin == "A"
    assert verdict.message == "rejected due to timeout after waiting 1m30s at plugin A"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "250ms"), (0.0015, "1.5ms"), (1.5, "1.5s"), (600, "10m0s")],
)
def test_time_that_a_pod_waited_is_worded_as_in_go(seconds: float, text: str) -> None:
    """In units that suit it, below a second too."""
    world, _ = world_with("p", answers={"A.permit": moorage.Verdict.wait(seconds)})
    waiting = reserved(world).waiting
    assert waiting is not None
    world.clock.now += seconds
    world.session.tick()
    assert waiting.verdict is not None
    assert waiting.verdict.message == f"rejected due to timeout after waiting {text} at plugin A"


def test_nobody_waits_longer_than_a_quarter_of_an_hour() -> None:
    """Whatever a plugin says, as in kube-scheduler."""
    world, _ = world_with("p", answers={"A.permit": moorage.Verdict.wait(86400)})
    reserved(world)
    assert world.session.next_at() == world.clock.now + 900


def test_waiting_pod_goes_on_when_all_who_made_it_wait_allow_it() -> None:
    """One of two is not enough."""
    world, _ = world_with("p", answers={"permit": moorage.Verdict.wait(30)})
    waiting = reserved(world).waiting
    assert waiting is not None
    waiting.allow("A")
    assert waiting.pending_plugins == {"B"}
    waiting.allow("B")
    assert waiting.verdict is not None
    assert waiting.verdict.is_success


def test_permit_of_one_pod_may_allow_another() -> None:
    """A group of pods: the last one lets the others go."""

    def permit(pod: moorage.Pod, plugin: moorage.Plugin) -> moorage.Verdict | None:
        if pod.metadata.name == "first":
            return moorage.Verdict.wait(30)
        for waiting in plugin.handle.waiting_pods:
            waiting.allow(plugin.name)
        return None

    world, _ = world_with("first", "last", answers={"A.permit": permit})
    first = reserved(world)
    last = reserved(world)
    assert last.waiting is None
    assert first.waiting is not None
    assert first.waiting.verdict is not None


def test_pod_that_waits_and_is_deleted_gives_its_node_back() -> None:
    """The deletion settles Permit; nothing is reported about a pod that is gone."""
    world, _ = world_with("p", answers={"A.permit": moorage.Verdict.wait(30)})
    reservation = reserved(world)
    known = world.session.pods.known("p")
    assert known is not None
    world.session.pods.take(deleted(known.pod))
    assert reservation.waiting is not None
    verdict = reservation.waiting.verdict
    assert verdict is not None
    failure = world.session.undo(reservation, verdict)
    assert failure.place is Place.OUTSIDE
    assert world.cluster.pod_count == 0
    assert len(world.services.waiting) == 0


def test_pod_that_is_being_deleted_is_not_tried() -> None:
    """It ends without a node, and this much is said."""
    world, log = world_with()
    told: list[moorage.PodInfo] = []
    world.session = Session({PROFILE: world.framework}, world.services, on_skipped=told.append)
    world.queue = world.session.queue
    world.session.pods.take(added(make_pod("p")))
    pod = make_pod("p")
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=datetime.now(UTC))
    world.session.pods.take(modified(msgspec.structs.replace(pod, metadata=metadata)))
    assert world.session.attempt() is None
    assert log == []
    assert [info.key for info in told] == ["ns/p"]
    assert world.queue.place("p") is Place.OUTSIDE


def test_nominated_pod_is_expected_nowhere_once_it_is_assumed() -> None:
    """Else its room would count twice; a failure ends it, or nobody could use the node meanwhile."""
    answers = {"A.permit": moorage.Verdict.wait(30)}
    world, _ = world_with(answers=answers)
    world.session.pods.take(added(make_pod("p", cpu="2", nominated="n1")))
    reservation = reserved(world)
    assert world.queue.nominator.node_of("p") == ""
    failure = world.session.undo(reservation, moorage.Verdict.unschedulable("no").of("A"))
    assert failure.nomination == ""
    assert world.queue.nominator.node_of("p") == ""


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({"A.reserve": moorage.Verdict.unschedulable("no")}, id="reserve-refuses"),
        pytest.param({"A.permit": moorage.Verdict.unschedulable("no")}, id="permit-refuses"),
        pytest.param({"A.permit": ValueError("no")}, id="permit-fails"),
        pytest.param({"A.pre_filter": ValueError("no")}, id="filtering-fails"),
        pytest.param({"A.pre_filter": moorage.Verdict.unschedulable("no")}, id="nobody-makes-room"),
    ],
)
def test_an_attempt_that_fails_voids_an_earlier_nomination(answers: dict[str, Any]) -> None:
    """Whoever wrote it: the node need not keep room for a pod that may go anywhere."""
    world = World(A=scripted(("reserve", "permit", "pre_filter"), answers, []))
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("p", nominated="n1")))
    failure = failed(world)
    assert failure.nomination == ""
    assert world.queue.nominator.node_of("p") == ""


def test_a_nomination_to_a_node_of_a_cluster_without_nodes_is_void() -> None:
    """There is nothing that it could stand for."""
    world = World()
    world.session.pods.take(added(make_pod("p", nominated="n1")))
    assert failed(world).nomination == ""


def bad_key(queued: moorage.QueuedPod) -> object:
    """Raise for one pod, answer with what does not compare for another."""
    if queued.pod.metadata.name == "raises":
        raise ValueError("no key")
    return None if queued.pod.metadata.name == "none" else queued.timestamp


def sorting_by(function: Callable[[moorage.QueuedPod], object]) -> type[moorage.Plugin]:
    """Make a plugin that sorts by a function."""

    class Sorting(moorage.Plugin):
        """Sorts."""

        @moorage.hookimpl
        def queue_sort(self, queued: moorage.QueuedPod) -> object:
            """Return what the function says."""
            return function(queued)

    return Sorting


def test_queue_sort_that_fails_costs_a_pod_its_place_in_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is tried last, and the plugin is named; no pod is lost."""
    world = World(Sort=sorting_by(bad_key))
    world.session.nodes.take(listed(make_node("n1")))
    with caplog.at_level(logging.ERROR):
        world.session.pods.take(added(make_pod("raises"), make_pod("none"), make_pod("good")))
    assert "raised in queue_sort: ValueError: no key" in caplog.text
    order = [reserved(world).info.pod.metadata.name for _ in range(3)]
    assert order == ["good", "raises", "none"]
    world.check()


def test_hint_that_raises_wakes_the_pod_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As if it had said that the event helps."""

    class Hinting(moorage.Plugin):
        """Refuses everything; its hint is broken."""

        @moorage.hookimpl
        def events_to_register(self) -> tuple[moorage.EventHint, ...]:
            """Register for nodes."""
            event = moorage.ClusterEvent(moorage.EventResource.NODE, moorage.ActionType.ALL)
            return (moorage.EventHint(event, self.broken),)

        def broken(self, pod: moorage.Pod, old: object, new: object) -> moorage.QueueingHint:
            """Raise."""
            raise RuntimeError("no hint")

        @moorage.hookimpl
        def pre_filter(self) -> moorage.Verdict:
            """Refuse."""
            return moorage.Verdict.unschedulable("never")

    world = World(Hinting=Hinting)
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("p")))
    failed(world)
    world.clock.now += 20
    with caplog.at_level(logging.ERROR):
        world.session.nodes.take(added(make_node("n2")))
    assert world.queue.place("p") is Place.ACTIVE
    assert "plugin 'Hinting' (tests) failed in its hint for NodeAdd about pod ns/p" in caplog.text


def test_pod_that_waits_for_nodes_is_tried_again_when_taints_of_one_change() -> None:
    """Whoever refused it, as in kube-scheduler 1.36 (K#109437); the end of a cordon counts too."""
    world, _ = world_with()
    world.session.nodes.take(added(make_node("n2", unschedulable=True)))
    world.session.pods.take(added(make_pod("big", cpu="9")))
    failed(world)
    world.clock.now += 20
    world.session.nodes.take(modified(make_node("n1", labels={"a": "b"})))
    assert world.queue.place("big") is Place.UNSCHEDULABLE
    world.session.nodes.take(modified(make_node("n2")))
    assert world.queue.place("big") is Place.ACTIVE
