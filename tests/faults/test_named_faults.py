"""Each fault by its name, in virtual time: what it does to a pod, and how that is undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.faults.judging import check_everything, overfilled
from tests.faults.mischief import Mischief
from tests.faults.simulated_api import SimulatedApi
from tests.faults.simulated_scheduler import (
    ANSWERED,
    LOST_AFTER,
    LOST_BEFORE,
    REFUSED,
    UNREACHABLE,
    Scheduler,
)
from tests.loop_kit import scripted

import moorage
from moorage.model.pods import PodSchedulingGate
from moorage.queueing import Place


def started(
    *,
    nodes: Mapping[str, str] | None = None,
    answers: dict[str, Any] | None = None,
    asynchronous: bool = True,
) -> tuple[SimulatedApi, Scheduler]:
    """Start a scheduler on nodes with so much cpu; `answers` are those of a plugin's hooks."""
    api = SimulatedApi()
    for name, cpu in (nodes or {"n1": "4"}).items():
        api.create_node(name, cpu=cpu)
    hooks = tuple(answers or ())
    if not hooks:
        return api, Scheduler(api)
    plugin = scripted(hooks, answers or {}, [], asynchronous=asynchronous)
    return api, Scheduler(api, {"Plugin": plugin})


def finish(scheduler: Scheduler) -> None:
    """Let everything come to its end without further faults, and judge."""
    drive(scheduler, seconds=60)
    check_everything(scheduler)


def drive(scheduler: Scheduler, *, seconds: int) -> None:
    """Do all there is to do, second by second."""
    for _ in range(seconds):
        scheduler.hear("nodes")
        scheduler.hear("pods")
        while scheduler.attempt():
            pass
        scheduler.settle_permits()
        while scheduler.flights:
            scheduler.step(0)
        scheduler.pass_time(1.0)


def node_of(api: SimulatedApi, name: str) -> str:
    """Return where a pod is; empty: nowhere."""
    return api.pods[name].spec.node_name


def in_flight(scheduler: Scheduler, name: str, **pod: Any) -> None:  # noqa: ANN401 - as create_pod
    """Bring a new pod to where its Binding is about to be sent."""
    scheduler.api.create_pod(name, **pod)
    scheduler.hear("pods")
    assert scheduler.attempt()
    [(flight, _)] = scheduler.flights
    assert "/binding" in str(flight.waits_for)


# Watches


def test_events_between_the_end_of_a_watch_and_the_next_list_are_made_up_for() -> None:
    """After a 410: what came, changed and went meanwhile is found by comparing."""
    api, scheduler = started(nodes={"n1": "1"})
    for name in ("stays", "goes"):
        api.create_pod(name, cpu="9")
    scheduler.hear("pods")
    while scheduler.attempt():
        pass
    api.delete_pod("goes")
    api.create_pod("comes")
    api.create_node("n2", cpu="10")
    scheduler.relist("pods")
    scheduler.relist("nodes")
    finish(scheduler)
    assert api.bindings == {"stays": 1, "comes": 1}


def test_binding_that_only_a_list_tells_of_is_confirmed() -> None:
    """The event of it is never seen."""
    _, scheduler = started()
    in_flight(scheduler, "p")
    scheduler.step(0)
    scheduler.relist("pods")
    assert not scheduler.session.cluster.assumed_count
    finish(scheduler)


def test_namesake_made_during_a_gap_is_another_pod() -> None:
    """By uid: what was assumed for the old one goes, whatever becomes of its Binding."""
    api, scheduler = started(nodes={"n1": "1"})
    in_flight(scheduler, "p")
    api.delete_pod("p")
    scheduler.relist("pods")
    scheduler.step(0)
    api.create_pod("q")
    finish(scheduler)
    assert api.bindings == {"q": 1}


def test_watch_that_repeats_itself_frees_no_room() -> None:
    """A bound pod is not unbound by an event from before; the node stays full."""
    api, scheduler = started()
    in_flight(scheduler, "p", cpu="4")
    scheduler.step(0)
    scheduler.hear("pods")
    scheduler.streams["pods"].rewind(2)
    scheduler.hear("pods", 1)
    assert scheduler.session.cluster.node_of("p") == "n1"
    api.create_pod("q", cpu="1")
    finish(scheduler)
    assert api.bindings == {"p": 1}


def test_list_from_a_restored_backup_is_believed() -> None:
    """It holds older versions: the pod has no node again, and is scheduled again."""
    api, scheduler = started()
    api.create_pod("p")
    before = api.pods["p"]
    scheduler.hear("pods")
    scheduler.attempt()
    scheduler.step(0)
    scheduler.hear("pods")
    api.pods["p"] = before
    api.bindings.clear()
    scheduler.relist("pods")
    finish(scheduler)
    assert api.bindings == {"p": 1}


def test_pods_may_be_told_of_before_their_nodes() -> None:
    """Resources are watched apart: a pod on a node that nobody knows yet counts as soon as it comes."""
    api, scheduler = started()
    api.create_node("n2", cpu="1")
    api.create_pod("early")
    api.bind("early", "n2", by_us=False)
    scheduler.hear("pods")
    scheduler.hear("nodes")
    api.create_pod("p", cpu="4")
    api.create_pod("q", cpu="1")
    finish(scheduler)
    assert node_of(api, "p") == "n1"
    assert node_of(api, "q") == ""


# Writes


@pytest.mark.parametrize(
    ("fate", "attempts"), [(LOST_AFTER, 1), (LOST_BEFORE, 2), (UNREACHABLE, 2), (REFUSED, 2)]
)
def test_binding_without_a_clear_answer_is_found_out_by_reading(fate: int, attempts: int) -> None:
    """One that happened is not sent again; one that did not is tried anew after a backoff."""
    api, scheduler = started()
    in_flight(scheduler, "p")
    queued = scheduler.session.queue.find("p")
    assert queued is not None
    scheduler.step(0, fate)
    finish(scheduler)
    assert api.bindings == {"p": 1}
    assert queued.attempts == attempts


def test_pod_keeps_its_node_until_its_fate_is_known() -> None:
    """The Binding happened, and nobody can be asked for long: the node is given to nobody else."""
    api, scheduler = started()
    in_flight(scheduler, "p", cpu="4")
    scheduler.step(0, LOST_AFTER)
    api.create_pod("other", cpu="4")
    for _ in range(100):
        scheduler.pass_time(2.0)
        scheduler.step(0, UNREACHABLE)
        scheduler.hear("pods", 1 if scheduler.streams["pods"].backlog > 1 else 0)
        while scheduler.attempt():
            pass
        [_] = [one for one in scheduler.flights if one[1] is not None]
    assert scheduler.session.cluster.node_of("p") == "n1"
    scheduler.flushed.clear()  # this took longer than five minutes
    finish(scheduler)
    assert api.bindings == {"p": 1}


def test_binding_that_lands_after_all_is_the_one_that_counts() -> None:
    """It was on its way for so long that reading said it had not happened; the second one loses."""
    api, scheduler = started(nodes={"n1": "4", "n2": "4"})
    in_flight(scheduler, "p", cpu="4")
    scheduler.step(0, LOST_BEFORE)
    while scheduler.flights:
        scheduler.step(0)
    assert scheduler.session.queue.place("p") is Place.BACKOFF
    scheduler.pass_time(20.0)
    scheduler.attempt()
    api.bind("p", "n1")
    drive(scheduler, seconds=1)
    api.create_pod("q", cpu="4")
    finish(scheduler)
    assert api.bindings == {"p": 1, "q": 1}
    assert node_of(api, "p") == "n1"
    assert node_of(api, "q") == "n2"


def test_status_that_cannot_be_written_holds_up_no_pod() -> None:
    """The condition is late, and says what is true when it comes."""
    api, scheduler = started(nodes={"n1": "1"})
    api.create_pod("big", cpu="3")
    scheduler.hear("pods")
    scheduler.attempt()
    for fate in (REFUSED, UNREACHABLE, LOST_BEFORE):
        scheduler.step(0, fate)
    in_between = scheduler.flights.pop()
    in_flight(scheduler, "small")
    scheduler.flights.append(in_between)
    finish(scheduler)
    [condition] = api.pods["big"].status.conditions
    assert condition.message == "0/1 nodes are available: 1 Insufficient cpu."


# What happens to a pod in its cycle


def _deleted(api: SimulatedApi) -> None:
    api.delete_pod("p")


def _relabelled(api: SimulatedApi) -> None:
    api.change_pod("p", metadata={"labels": {"new": "yes"}})


def _taken(api: SimulatedApi) -> None:
    api.bind("p", "n2", by_us=False)


def _reprioritised(api: SimulatedApi) -> None:
    api.change_pod("p", spec={"priority": 7})


def _gated(api: SimulatedApi) -> None:
    api.change_pod("p", spec={"scheduling_gates": (PodSchedulingGate(name="g"),)})


def _steps(scheduler: Scheduler, fate: int) -> list[Callable[[], object]]:
    """List the ways of a pod from the watch to its node, by way of Permit."""

    def allow() -> None:
        for waiting in scheduler.session.services.waiting:
            waiting.allow("Plugin")

    def go_on(fate: int = ANSWERED) -> None:
        if scheduler.flights:
            scheduler.step(0, fate)

    return [
        lambda: scheduler.hear("pods"),
        scheduler.attempt,
        allow,
        scheduler.settle_permits,  # the nomination is written first
        go_on,
        lambda: go_on(fate),  # the Binding
        go_on,
    ]


@pytest.mark.parametrize("happening", [_deleted, _relabelled, _taken, _reprioritised, _gated])
@pytest.mark.parametrize("point", range(8))
@pytest.mark.parametrize("fate", [ANSWERED, LOST_AFTER, LOST_BEFORE])
def test_pod_may_change_or_go_at_any_point_of_its_cycle(
    happening: Callable[[SimulatedApi], None], point: int, fate: int
) -> None:
    """Before it is tried, while it waits in Permit, before, while and after it is bound."""
    answers = {
        "permit": moorage.Verdict.wait(10),
        "pre_bind_pre_flight": None,
        "pre_bind": None,
    }
    api, scheduler = started(nodes={"n1": "4", "n2": "4"}, answers=answers)
    api.create_pod("p", cpu="3")
    steps = _steps(scheduler, fate)
    for step in steps[:point]:
        step()
    bound_by_then = bool(api.pods["p"].spec.node_name)
    if not (bound_by_then and happening in {_taken, _gated, _reprioritised}):
        happening(api)
    for step in steps[point:]:
        step()
        scheduler.hear("pods", 1)
    if happening is _gated and not bound_by_then:
        api.change_pod("p", spec={"scheduling_gates": ()})
    for _ in range(30):
        for waiting in scheduler.session.services.waiting:
            waiting.allow("Plugin")
        drive(scheduler, seconds=1)
    finish(scheduler)
    assert sum(api.bindings.values()) <= 1
    if happening is not _deleted:
        assert api.pods["p"].spec.node_name


def test_neighbour_that_takes_a_pod_elsewhere_gives_our_room_back() -> None:
    """Who was refused for the sake of the pod on its way is tried again, not after five minutes."""
    api, scheduler = started(nodes={"n1": "4", "n2": "1"})
    in_flight(scheduler, "p", cpu="4")
    api.create_pod("waits", cpu="4")
    scheduler.hear("pods")
    scheduler.attempt()
    assert scheduler.session.queue.place("waits") is Place.UNSCHEDULABLE
    api.bind("p", "n2", by_us=False)
    finish(scheduler)
    assert node_of(api, "waits") == "n1"


def test_pod_that_ends_up_elsewhere_than_expected_gives_room_back() -> None:
    """It was nominated to a node that filled up; when it is bound elsewhere, others may go there."""
    api, scheduler = started(nodes={"n1": "4"})
    api.create_pod("p", cpu="4", priority=5)
    api.change_pod("p", status={"nominated_node_name": "n1"})
    api.change_node("n1", unschedulable=True)
    scheduler.hear("nodes")
    scheduler.hear("pods")
    scheduler.attempt()
    api.change_node("n1", unschedulable=False, labels={"zone": "a"})
    api.create_pod("waits", cpu="4")
    scheduler.hear("pods")
    scheduler.attempt()
    api.create_node("n2", cpu="4")
    finish(scheduler)
    assert {api.pods["p"].spec.node_name, api.pods["waits"].spec.node_name} == {"n1", "n2"}


# Nodes


def test_node_that_goes_while_a_pod_is_bound_to_it() -> None:
    """The Binding may succeed all the same; the pod stays where the API server has it until it goes."""
    api, scheduler = started()
    in_flight(scheduler, "p", cpu="4")
    api.delete_node("n1")
    scheduler.hear("nodes")
    scheduler.step(0)
    api.create_pod("q", cpu="4")
    finish(scheduler)
    assert node_of(api, "q") == ""
    api.delete_pod("p")
    api.create_node("n1", cpu="4")
    finish(scheduler)
    assert node_of(api, "q") == "n1"


def test_node_made_anew_has_the_pods_that_it_had() -> None:
    """It comes back, smaller, with pods on it."""
    api, scheduler = started()
    in_flight(scheduler, "p", cpu="3")
    scheduler.step(0)
    api.delete_node("n1")
    scheduler.hear("nodes")
    api.create_node("n1", cpu="3")
    api.create_pod("q", cpu="1")
    finish(scheduler)
    assert node_of(api, "q") == ""


# Plugins


HOOKS = (
    "pre_enqueue",
    "pre_filter",
    "post_filter",
    "reserve",
    "permit",
    "pre_bind_pre_flight",
    "pre_bind",
    "bind",
    "unreserve",
)


@pytest.mark.parametrize("hook", HOOKS)
def test_plugin_that_raises_in_any_hook_costs_its_pod_a_turn(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The pod is tried again, others are not held up, and the plugin is named."""
    left = [1]

    def raises(pod: moorage.Pod, plugin: moorage.Plugin) -> object:
        if pod.metadata.name == "p" and left:
            left.pop()
            raise ValueError("no luck")
        return moorage.SKIP if hook == "bind" else None

    # What has to happen before such a hook is called, and what a pod waits for afterwards.
    besides: dict[str, dict[str, Any]] = {
        "unreserve": {"permit": _raise_once()},
        "pre_bind_pre_flight": {"pre_bind": None},
    }
    answers: dict[str, Any] = {hook: raises, **besides.get(hook, {})}
    api, scheduler = started(
        answers=answers, asynchronous=hook not in {"pre_filter", "post_filter"}
    )
    api.change_node("n1", unschedulable=hook == "post_filter")
    scheduler.hear("nodes")
    for name in ("p", "q"):
        api.create_pod(name)
    drive(scheduler, seconds=1)
    assert "plugin 'Plugin' (tests) raised in" in caplog.text
    assert api.bindings["q"] == (hook != "post_filter")
    api.change_pod("p", metadata={"labels": {"any": "change"}})
    api.change_node("n1", unschedulable=False)
    finish(scheduler)
    assert api.bindings == {"p": 1, "q": 1}


def _raise_once() -> Callable[[moorage.Pod, moorage.Plugin], moorage.Verdict | None]:
    left = [1]

    def answer(pod: moorage.Pod, plugin: moorage.Plugin) -> moorage.Verdict | None:
        if pod.metadata.name == "p" and left:
            left.pop()
            raise ValueError("no permit")
        return None

    return answer


def test_permit_that_nobody_answers_ends_by_the_clock() -> None:
    """The pod gives its node back; who waited for it is tried at once."""
    waits = [moorage.Verdict.wait(20)]
    answers = {"permit": lambda pod, plugin: waits.pop() if waits else None}
    api, scheduler = started(answers=answers)
    api.create_pod("p", cpu="4")
    scheduler.hear("pods")
    scheduler.attempt()
    api.create_pod("q", cpu="4")
    scheduler.hear("pods")
    scheduler.attempt()
    scheduler.pass_time(19)
    assert scheduler.session.next_at() == scheduler.clock.now + 1
    finish(scheduler)
    assert api.bindings == {"q": 1}


# The process


def test_restart_takes_its_state_from_the_api_alone() -> None:
    """Bound pods count, waiting pods are queued, nominations keep their room; nothing is bound twice."""
    api, scheduler = started(nodes={"n1": "4", "n2": "4"})
    in_flight(scheduler, "bound", cpu="3")
    scheduler.step(0)
    in_flight(scheduler, "sent", cpu="3")
    scheduler.step(0, LOST_AFTER)
    api.create_pod("preemptor", cpu="9", priority=10)
    api.change_pod("preemptor", status={"nominated_node_name": "n1"})
    again = Scheduler(api)
    assert again.session.cluster.pod_count == 2
    assert again.session.queue.nominator.node_of("preemptor") == "n1"
    api.create_pod("lower", cpu="1")
    finish(again)
    assert node_of(api, "lower") in {"n2", ""}
    assert api.bindings["bound"] == api.bindings["sent"] == 1


def test_clock_that_jumps_ahead_loses_no_pod() -> None:
    """A machine that slept for a day: all backoffs are over, and all waits."""
    answers = {"permit": lambda pod, plugin: moorage.Verdict.wait(30)}
    api, scheduler = started(answers=answers)
    api.create_pod("waits")
    api.create_pod("big", cpu="9")
    scheduler.hear("pods")
    while scheduler.attempt():
        pass
    scheduler.pass_time(86_400.0)
    scheduler.flushed.clear()
    assert not [one for one in scheduler.session.services.waiting if one.verdict is None]
    api.create_node("n2", cpu="9")
    scheduler.hear("nodes")
    for _ in range(40):
        for waiting in scheduler.session.services.waiting:
            waiting.allow("Plugin")
        drive(scheduler, seconds=1)
    scheduler.flushed.clear()  # the long timeout was over as well
    check_everything(scheduler)
    assert api.bindings == {"waits": 1, "big": 1}


# A neighbour


@pytest.mark.parametrize("seed", range(10))
def test_neighbour_costs_no_pod_and_overfills_by_what_was_on_its_way(seed: int) -> None:
    """Another scheduler binds to the same nodes, in whatever order we hear of it."""
    mischief = Mischief(seed, neighbour=True)
    mischief.run(400)
    mischief.settle()
    check_everything(mischief.scheduler)


def test_node_that_a_neighbour_filled_is_overfilled_by_what_was_in_flight_alone() -> None:
    """As soon as the watch tells, nothing more goes there."""
    api, scheduler = started(nodes={"n1": "4"})
    for name in ("a", "b", "c"):
        api.create_pod(name)
    scheduler.hear("pods")
    scheduler.attempt()
    for index in range(4):
        api.create_pod(f"theirs{index}")
        api.bind(f"theirs{index}", "n1", by_us=False)
    scheduler.attempt()  # not told yet
    scheduler.hear("pods")
    finish(scheduler)
    assert overfilled(api) == {"n1": 2}
    assert node_of(api, "c") == ""


def test_nomination_that_is_void_gives_room_back() -> None:
    """PostFilter nominates nothing any more: who had to leave the room is tried at once."""
    answers: dict[str, Any] = {"post_filter": moorage.Nomination("n1")}
    api, scheduler = started(nodes={"n1": "4"}, answers=answers, asynchronous=False)
    api.create_pod("p", cpu="5", priority=5)
    api.create_pod("waits", cpu="1")
    scheduler.hear("pods")
    while scheduler.attempt():
        pass
    assert scheduler.session.queue.place("waits") is Place.UNSCHEDULABLE
    answers["post_filter"] = moorage.Nomination("")
    scheduler.pass_time(20.0)
    scheduler.services.activate(["ns/p"])
    finish(scheduler)
    assert api.bindings == {"waits": 1}
