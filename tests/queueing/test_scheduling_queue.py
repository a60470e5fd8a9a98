"""What the scheduling queue does with pods, one behaviour a test."""

from __future__ import annotations

import pytest
from tests.queueing.queue_fakes import (
    NODE_ADDED,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETED,
    PROFILE,
    Profile,
    World,
    node,
    pod,
    refusal,
)

from moorage.framework.hints import EventHint, QueueingHint
from moorage.framework.requeue import RequeueRequest
from moorage.framework.verdict import Code
from moorage.model.events import ALL
from moorage.queueing import Place, SchedulingQueue


@pytest.fixture
def world() -> World:
    """Make a queue with one profile."""
    return World()


def test_pop_of_an_empty_queue_answers_none(world: World) -> None:
    """Nothing blocks: an empty queue says so."""
    assert world.queue.pop() is None
    assert world.queue.next_ready_at() is None


def test_higher_priority_is_popped_first(world: World) -> None:
    """The profile's sort key orders active pods."""
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        world.queue.add(pod(name, priority=priority))
    assert [world.popped().info.uid for _ in range(3)] == ["high", "middle", "low"]


def test_equal_priority_goes_by_time(world: World) -> None:
    """Of equal priority, the pod that came first is tried first."""
    world.queue.add(pod("first"))
    world.clock.now += 1
    world.queue.add(pod("second"))
    assert world.popped().info.uid == "first"


def test_a_popped_pod_counts_its_attempt(world: World) -> None:
    """An attempt begins with pop."""
    world.queue.add(pod("p"))
    queued = world.popped()
    assert (queued.attempts, queued.first_attempt) == (1, 1000.0)
    assert world.place("p") is Place.IN_FLIGHT


def test_a_pod_added_twice_is_updated(world: World) -> None:
    """A relist hands over pods that are known; each stays one pod."""
    world.queue.add(pod("p"))
    newer = pod("p", version=2)
    world.queue.add(newer)
    assert world.popped().info is newer
    assert world.queue.pop() is None


def test_a_refused_pod_waits(world: World) -> None:
    """Without an event that helps, time alone does not bring a refused pod back soon."""
    world.refused(pod("p"), "Fit")
    world.pass_backoff()
    assert world.queue.pop() is None
    assert world.place("p") is Place.UNSCHEDULABLE


def test_an_event_that_helps_sends_to_backoff(world: World) -> None:
    """While its backoff lasts, a pod that an event may help waits it out."""
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.BACKOFF


def test_an_event_that_helps_after_the_backoff_makes_active(world: World) -> None:
    """A backoff that is over is not waited for again."""
    world.refused(pod("p"), "Fit")
    world.pass_backoff()
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.ACTIVE


def test_an_event_that_does_not_help_moves_nothing(world: World) -> None:
    """SKIP by every refusing plugin leaves the pod where it is."""
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node())
    assert world.place("p") is Place.UNSCHEDULABLE
    assert world.profile.hint_calls["Fit"] == 1


def test_only_refusing_plugins_are_asked(world: World) -> None:
    """A hint of a plugin that did not refuse the pod says nothing about it."""
    world.refused(pod("p"), "Taint")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.UNSCHEDULABLE
    assert not world.profile.hint_calls


def test_one_helped_plugin_of_several_suffices(world: World) -> None:
    """A pod that two plugins refused is tried again when one of them may be content."""
    world.refused(pod("p"), "Fit", "Taint")
    world.queue.move(NODE_TAINT, node(), node(helps="yes"))
    assert world.place("p") is Place.BACKOFF


def test_a_pending_plugin_spares_the_backoff(world: World) -> None:
    """What a pending plugin waited for has happened: the pod is active at once."""
    world.refused(pod("p"), pending=("External",))
    world.queue.move(NODE_LABEL, node(), node(helps="yes"))
    assert world.place("p") is Place.ACTIVE


def test_another_plugin_of_a_pending_pod_does_not_spare_the_backoff(world: World) -> None:
    """Only the pending plugin's own event goes past the backoff."""
    world.refused(pod("p"), "Fit", pending=("External",))
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.BACKOFF


def test_a_plugin_that_registered_nothing_is_retried_on_everything(world: World) -> None:
    """An unknown plugin's pod comes back on any event."""
    world.refused(pod("p"), "Unknown")
    world.queue.move(POD_DELETED, pod("other").pod, None)
    assert world.place("p") is Place.BACKOFF


def test_a_plugin_that_registered_an_empty_list_is_retried_on_nothing(world: World) -> None:
    """Who says that no event can help is believed, until the long timeout."""
    world.refused(pod("p"), "Deaf")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.UNSCHEDULABLE


def test_a_hint_of_none_means_every_such_event(world: World) -> None:
    """Registering an event without a hint function is a QUEUE."""
    world.profile.hints = {"Fit": (EventHint(NODE_ADDED),)}
    world = World(world.profile)
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node())
    assert world.place("p") is Place.BACKOFF


def test_a_hint_that_raises_counts_as_queue() -> None:
    """A broken hint costs an attempt, never a pod, and is reported with its plugin."""

    def broken(*_: object) -> QueueingHint:
        raise ValueError("boom")

    profile = Profile()
    profile.hints = {"Fit": (EventHint(NODE_ADDED, broken),)}
    world = World(profile)
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node())
    assert world.place("p") is Place.BACKOFF
    assert world.hint_errors == [("Fit", "boom")]


def test_a_hint_that_answers_nonsense_counts_as_queue() -> None:
    """A wrong answer is a fault like an exception."""
    profile = Profile()
    profile.hints = {"Fit": (EventHint(NODE_ADDED, lambda *_: None),)}  # type: ignore[arg-type]
    world = World(profile)
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node())
    assert world.place("p") is Place.BACKOFF
    assert "not None" in world.hint_errors[0][1]


def test_a_wildcard_event_moves_everybody_unasked(world: World) -> None:
    """An event about `*` asks no hints."""
    world.refused(pod("p"), "Fit")
    world.queue.move(ALL, None, None)
    assert world.place("p") is Place.BACKOFF
    assert not world.profile.hint_calls


def test_an_error_goes_to_backoff_at_once(world: World) -> None:
    """Nobody refused the pod, so no event is waited for."""
    world.queue.add(pod("p"))
    assert world.queue.requeue(world.popped(), RequeueRequest.error()) is Place.BACKOFF


def test_a_refusal_by_nobody_is_an_error(world: World) -> None:
    """A pod that no plugin's event could bring back waits for time alone."""
    world.queue.add(pod("p"))
    request = RequeueRequest(Code.UNSCHEDULABLE)
    assert world.queue.requeue(world.popped(), request) is Place.BACKOFF


def test_an_error_that_names_plugins_waits_for_no_event(world: World) -> None:
    """A fault in a plugin is no refusal by it."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.requeue(queued, RequeueRequest(Code.ERROR, frozenset({"Fit"})))
    assert world.place("p") is Place.BACKOFF
    assert not queued.unschedulable_plugins


def test_a_refused_pod_is_popped_from_backoff_when_nothing_is_active(world: World) -> None:
    """An idle scheduler does not wait for a backoff (KEP-5142)."""
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.popped().info.uid == "p"
    assert world.incoming[-1] == ("active", "PopFromBackoffQ")


def test_active_pods_go_before_those_in_backoff(world: World) -> None:
    """Backoff is cut short only while nothing is active, whatever the priority."""
    world.refused(pod("important", priority=9), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    world.queue.add(pod("fresh"))
    assert world.popped().info.uid == "fresh"


def test_an_error_is_not_popped_from_backoff(world: World) -> None:
    """Whatever failed gets the time to recover."""
    world.queue.add(pod("p"))
    world.queue.requeue(world.popped(), RequeueRequest.error())
    assert world.queue.pop() is None
    due = world.queue.next_ready_at()
    assert due == 1001.0
    world.clock.now = due
    assert world.popped().info.uid == "p"


def test_popping_from_backoff_goes_by_priority_within_a_second(world: World) -> None:
    """Backoffs that end in the same second are ordered by the queue sort."""
    first = world.refused(pod("low"), "Fit")
    world.clock.now += 0.25
    second = world.refused(pod("high", priority=9), "Fit")
    world.clock.now += 0.25
    third = world.refused(pod("middle", priority=5), "Fit")
    assert first.backoff_until < second.backoff_until == third.backoff_until
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert [world.popped().info.uid for _ in range(3)] == ["low", "high", "middle"]


def test_errors_and_refusals_are_counted_apart(world: World) -> None:
    """One error after many refusals backs off by the first step; a refusal resets the errors."""
    world.queue.add(pod("p"))
    for _ in range(4):
        queued = world.popped()
        world.queue.requeue(queued, refusal("Fit"))
        world.queue.activate(["ns/p"])
    world.queue.requeue(world.popped(), RequeueRequest.error())
    assert (queued.unschedulable_count, queued.error_count) == (4, 1)
    assert queued.backoff_until == world.clock.now + 1.0
    world.pass_backoff()
    world.queue.requeue(world.popped(), refusal("Fit"))
    assert (queued.unschedulable_count, queued.error_count) == (5, 0)
    assert queued.backoff_until == world.clock.now + 10.0


def test_an_event_during_the_cycle_is_not_lost(world: World) -> None:
    """What helps a pod while it is being refused brings it back."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.queue.requeue(queued, refusal("Fit")) is Place.BACKOFF


def test_an_event_during_the_cycle_that_helps_a_pending_plugin_makes_active(world: World) -> None:
    """The pending plugin's event wins over one that only ends in backoff."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    world.queue.move(NODE_LABEL, node(), node(helps="yes"))
    request = refusal("Fit", pending=("External",))
    assert world.queue.requeue(queued, request) is Place.ACTIVE


def test_an_event_before_the_cycle_is_not_replayed(world: World) -> None:
    """The cycle saw what happened before pop; only later events count."""
    world.queue.add(pod("p"))
    world.queue.add(pod("other", priority=9))
    world.popped()
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.queue.requeue(world.popped(), refusal("Fit")) is Place.UNSCHEDULABLE


def test_an_event_during_the_cycle_that_does_not_help_moves_nothing(world: World) -> None:
    """Replayed events run through the same hints."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.move(NODE_ADDED, None, node())
    assert world.queue.requeue(queued, refusal("Fit")) is Place.UNSCHEDULABLE


def test_a_pod_that_stopped_listening_goes_to_backoff(world: World) -> None:
    """Whoever refuses a pod after its events were let go may have been helped by one of them."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.stop_listening("p")
    assert world.queue.requeue(queued, refusal("Fit")) is Place.BACKOFF


def test_a_pod_deleted_in_flight_is_dropped(world: World) -> None:
    """A failed cycle does not bring back a pod that is gone."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.delete(queued.info)
    assert world.queue.requeue(queued, refusal("Fit")) is Place.OUTSIDE
    assert world.queue.find("p") is None


def test_a_pod_made_anew_in_flight_is_another_pod(world: World) -> None:
    """The cycle of a deleted pod ends without touching the new one of the same name."""
    world.queue.add(pod("p", uid="old"))
    queued = world.popped()
    world.queue.update(queued.info, pod("p", uid="new"))
    assert world.queue.requeue(queued, RequeueRequest.error()) is Place.OUTSIDE
    assert world.place("new") is Place.ACTIVE
    world.queue.check_invariants()


def test_done_ends_a_cycle(world: World) -> None:
    """A bound pod is forgotten, with its nomination."""
    world.queue.add(pod("p", nominated="n1"))
    world.popped()
    world.queue.done("p")
    assert world.place("p") is Place.OUTSIDE
    assert world.queue.nominator.node_of("p") == ""


def test_done_leaves_waiting_pods_alone(world: World) -> None:
    """Only a pod in flight can be done."""
    world.queue.add(pod("p"))
    world.queue.done("p")
    world.queue.done("unknown")
    assert world.place("p") is Place.ACTIVE


@pytest.mark.parametrize("place", [Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED])
def test_a_pod_is_deleted_from_anywhere(world: World, place: Place) -> None:
    """Wherever a pod waits, delete finds it."""
    info = pod("p", labels={"gate": "Gate"} if place is Place.GATED else {})
    if place in {Place.ACTIVE, Place.GATED}:
        world.queue.add(info)
    else:
        world.refused(info, "Fit")
    if place is Place.BACKOFF:
        world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is place
    world.queue.delete(info)
    assert world.place("p") is Place.OUTSIDE
    world.queue.check_invariants()


def test_a_gated_pod_does_not_become_active(world: World) -> None:
    """PreEnqueue decides who is let in."""
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    assert world.place("p") is Place.GATED
    queued = world.queue.find("p")
    assert queued is not None
    assert (queued.gated_by, queued.first_attempt) == ("Gate", None)


def test_an_event_of_the_gating_plugin_lets_a_pod_in(world: World) -> None:
    """A gate opens when its plugin's hint says so and PreEnqueue agrees."""
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    world.profile.closed = False
    world.queue.move(NODE_TAINT, node(), node(helps="yes"))
    assert world.place("p") is Place.ACTIVE


def test_a_gate_that_stays_shut_keeps_the_pod(world: World) -> None:
    """A hint alone opens nothing: PreEnqueue is asked again."""
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    world.queue.move(NODE_TAINT, node(), node(helps="yes"))
    assert world.place("p") is Place.GATED
    assert world.profile.pre_enqueue_calls == 2


def test_an_event_that_the_gating_plugin_did_not_register_asks_nobody(world: World) -> None:
    """Gated pods cost nothing on other events."""
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert not world.profile.hint_calls
    assert world.profile.pre_enqueue_calls == 1


def test_an_update_of_a_gated_pod_asks_the_gate_again(world: World) -> None:
    """A pod whose own change opens the gate is let in without an event."""
    gated, free = pod("p", labels={"gate": "Gate"}), pod("p", version=2)
    world.queue.add(gated)
    world.queue.update(gated, free)
    assert world.place("p") is Place.ACTIVE


def test_pre_enqueue_is_asked_on_the_way_to_backoff_and_not_after(world: World) -> None:
    """A pod in backoff has been let in already: it may be popped from there at any time."""
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    asked = world.profile.pre_enqueue_calls
    assert asked == 2
    world.pass_backoff()
    world.queue.tick()
    assert world.place("p") is Place.ACTIVE
    assert world.profile.pre_enqueue_calls == asked


def test_a_pod_gated_on_its_way_back_waits_at_the_gate(world: World) -> None:
    """A gate that shut after the first attempt holds a pod that an event woke."""
    world.profile.closed = False
    world.refused(pod("p", labels={"gate": "Gate"}), "Fit")
    world.profile.closed = True
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    assert world.place("p") is Place.GATED


def test_the_long_timeout_flushes_an_unschedulable_pod(world: World) -> None:
    """Five minutes without a helpful event are the net below the hints."""
    queued = world.refused(pod("p"), "Fit")
    assert world.queue.next_ready_at() == 1300.0
    world.clock.now = 1299.0
    assert world.queue.pop() is None
    world.clock.now = 1300.0
    assert world.popped() is queued
    assert queued.was_flushed


def test_a_flushed_pod_that_fails_again_is_no_longer_flushed(world: World) -> None:
    """`was_flushed` tells of the attempt that the timeout caused."""
    queued = world.refused(pod("p"), "Fit")
    world.clock.now += 300
    world.queue.requeue(world.popped(), refusal("Fit"))
    assert not queued.was_flushed


def test_the_long_timeout_asks_gates_again(world: World) -> None:
    """A gate whose plugin registered too little does not hold a pod for ever."""
    world.queue.add(pod("p", labels={"gate": "Deaf"}))
    world.profile.closed = False
    world.clock.now += 300
    assert world.popped().was_flushed


def test_activate_makes_an_unschedulable_pod_active(world: World) -> None:
    """Activation spares hints and backoff."""
    world.refused(pod("p"), "Fit")
    world.queue.activate(["ns/p", "ns/unknown"])
    assert world.place("p") is Place.ACTIVE


def test_activate_makes_a_pod_in_backoff_active(world: World) -> None:
    """Activation ends a backoff, of an error too."""
    world.queue.add(pod("p"))
    world.queue.requeue(world.popped(), RequeueRequest.error())
    asked = world.profile.pre_enqueue_calls
    world.queue.activate(["ns/p"])
    assert world.place("p") is Place.ACTIVE
    assert world.profile.pre_enqueue_calls == asked


def test_activate_finds_the_newest_pod_of_a_name(world: World) -> None:
    """The name of a pod made anew no longer means the one that is still in flight."""
    world.queue.add(pod("p", uid="old"))
    world.popped()
    world.refused(pod("p", uid="new"), "Fit")
    world.queue.done("old")
    world.queue.activate(["ns/p"])
    assert world.place("new") is Place.ACTIVE


def test_activate_asks_the_gate(world: World) -> None:
    """Activation does not break a gate."""
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    world.queue.activate(["ns/p"])
    assert world.place("p") is Place.GATED


def test_activate_in_flight_counts_when_the_pod_comes_back(world: World) -> None:
    """A pod activated during its cycle is tried again, after its backoff."""
    world.queue.add(pod("p"))
    queued = world.popped()
    world.queue.activate(["ns/p"])
    assert world.queue.requeue(queued, refusal("Fit")) is Place.BACKOFF


def test_an_update_in_active_sorts_anew(world: World) -> None:
    """The newest version decides the order."""
    world.queue.add(pod("a"))
    world.queue.add(pod("b"))
    world.queue.update(pod("b"), pod("b", priority=3, version=2))
    assert world.popped().info.priority == 3


def test_an_own_change_that_helps_moves_an_unschedulable_pod(world: World) -> None:
    """An update of the pod runs the hints of the plugins that refused it."""
    before, after = pod("p"), pod("p", labels={"helps": "yes"}, version=2)
    world.refused(before, "Own")
    world.queue.update(before, after)
    assert world.place("p") is Place.BACKOFF


def test_an_own_change_that_nobody_registered_moves_nothing(world: World) -> None:
    """A plugin that does not look at the pod's labels is not asked about them."""
    before, after = pod("p"), pod("p", labels={"helps": "yes"}, version=2)
    world.refused(before, "Fit")
    world.queue.update(before, after)
    assert world.place("p") is Place.UNSCHEDULABLE


def test_a_status_update_moves_nothing(world: World) -> None:
    """Our own write of the PodScheduled condition must not cause the next attempt."""
    before, after = pod("p"), pod("p", nominated="n1", version=2)
    world.refused(before, "Unknown")
    world.queue.update(before, after)
    assert world.place("p") is Place.UNSCHEDULABLE


def test_an_update_in_flight_counts_when_the_pod_comes_back(world: World) -> None:
    """The cycle keeps its version; the newer one and its event are there at the end."""
    before, after = pod("p"), pod("p", labels={"helps": "yes"}, version=2)
    world.queue.add(before)
    queued = world.popped()
    world.queue.update(before, after)
    assert queued.info is before
    assert world.queue.requeue(queued, refusal("Own")) is Place.BACKOFF
    assert queued.info is after


def test_an_update_of_one_pod_in_flight_does_not_wake_another(world: World) -> None:
    """A change of a pending pod concerns that pod."""
    for name in ("p", "q"):
        world.queue.add(pod(name))
    first, second = world.popped(), world.popped()
    world.queue.update(first.info, pod("p", labels={"helps": "yes"}, version=2))
    assert world.queue.requeue(second, refusal("Own")) is Place.UNSCHEDULABLE


def test_an_update_of_an_unknown_pod_adds_it(world: World) -> None:
    """A pod that becomes ours by an update is tried."""
    world.queue.update(pod("p"), pod("p", version=2))
    assert world.place("p") is Place.ACTIVE


def test_incoming_pods_are_told_in_the_words_of_the_metrics(world: World) -> None:
    """Queue and event labels are kube-scheduler's; gated pods count as unschedulable."""
    world.queue.add(pod("g", labels={"gate": "Gate"}))
    world.refused(pod("p"), "Fit")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    world.pass_backoff()
    world.queue.tick()
    assert world.incoming == [
        ("unschedulable", "UnschedulablePodAdd"),
        ("active", "UnschedulablePodAdd"),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", "NodeAdd"),
        ("active", "BackoffComplete"),
    ]


def test_a_pod_that_somebody_activates_does_not_come_in_at_a_gate(world: World) -> None:
    """Gated pods are in kube-scheduler's unschedulable queue, which this one did not leave."""
    world.queue.add(pod("g", labels={"gate": "Gate"}))
    world.incoming.clear()
    world.queue.activate(["ns/g"])
    world.queue.update(pod("g", labels={"gate": "Gate"}), pod("g", labels={"gate": "Own"}))
    assert world.place("g") is Place.GATED
    assert not world.incoming


def test_a_pod_that_an_event_brings_to_a_gate_comes_in(world: World) -> None:
    """kube-scheduler takes it out of the unschedulable queue before it asks PreEnqueue."""
    world.profile.closed = False
    world.refused(pod("p", labels={"gate": "Gate"}), "Fit")
    world.profile.closed = True
    world.incoming.clear()
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    world.queue.move(NODE_TAINT, None, node(helps="yes"))
    world.clock.now += 301
    world.queue.tick()
    assert world.place("p") is Place.GATED
    events = ["NodeAdd", "NodeUpdateNodeTaint", "UnschedulableTimeout"]
    assert world.incoming == [("unschedulable", event) for event in events]


def test_an_error_that_ends_at_a_gate_comes_in(world: World) -> None:
    """A pod on its way to backoff was in no queue before."""
    world.profile.closed = False
    world.queue.add(pod("p", labels={"gate": "Gate"}))
    queued = world.popped()
    world.profile.closed = True
    world.queue.requeue(queued, RequeueRequest.error())
    assert world.incoming[-1] == ("unschedulable", "ScheduleAttemptFailure")


def test_on_ready_is_called_when_something_may_be_ready(world: World) -> None:
    """The runner is woken by whatever may change its next step."""
    world.queue.add(pod("p"))
    assert world.ready == 1
    world.popped()
    assert world.ready == 1


def test_counts_and_pending_agree(world: World) -> None:
    """Counting is cheap, listing is for people; both cover every place."""
    world.queue.add(pod("g", labels={"gate": "Gate"}))
    world.queue.add(pod("a"))
    world.refused(pod("p", priority=9), "Fit")
    assert {place: len(pods) for place, pods in world.queue.pending().items()} == dict(
        world.queue.counts()
    )
    assert world.queue.counts()[Place.GATED] == 1


def test_nominations_survive_moves(world: World) -> None:
    """A nomination stays while its pod waits, backs off and is tried again."""
    queued = world.refused(pod("p"), "Fit")
    world.queue.nominator.nominate(queued.info, "n1")
    world.queue.move(NODE_ADDED, None, node(helps="yes"))
    world.popped()
    assert world.queue.nominator.node_of("p") == "n1"


def test_a_nomination_by_others_follows_the_status(world: World) -> None:
    """Add, update and delete of a waiting pod carry its nominatedNodeName to the nominator."""
    before, after = pod("p", nominated="n1"), pod("p", nominated="n2", version=2)
    world.queue.add(before)
    assert world.queue.nominator.node_of("p") == "n1"
    world.queue.update(before, after)
    assert world.queue.nominator.on_node("n2") == (after,)
    world.queue.delete(after)
    assert len(world.queue.nominator) == 0


def test_two_profiles_have_their_own_hints() -> None:
    """A plugin's events in one profile do not wake the pods of another."""
    one, two = Profile(), Profile()
    two.hints = {"Fit": (EventHint(NODE_TAINT),)}
    queue = SchedulingQueue({PROFILE: one, "second": two}, clock=lambda: 0.0)
    for name, profile in (("p", PROFILE), ("q", "second")):
        queue.add(pod(name, profile=profile))
        queued = queue.pop()
        assert queued is not None
        queue.requeue(queued, refusal("Fit"))
    queue.move(NODE_TAINT, node(), node(helps="yes"))
    assert (queue.place("p"), queue.place("q")) == (Place.UNSCHEDULABLE, Place.BACKOFF)


def test_an_event_costs_nothing_for_pods_it_cannot_concern(world: World) -> None:
    """10,000 gated and 10,000 unschedulable pods of other plugins are not even looked at."""
    for number in range(10_000):
        world.queue.add(pod(f"g{number}", labels={"gate": "Gate"}))
        world.refused(pod(f"u{number}"), "Fit")
    asked = world.profile.pre_enqueue_calls
    looked = world.queue._concerned(NODE_LABEL, world.queue._wakeups.listeners(NODE_LABEL))
    world.queue.move(NODE_LABEL, node(), node(helps="yes"))
    assert not list(looked)
    assert not world.profile.hint_calls
    assert world.profile.pre_enqueue_calls == asked
