"""Pods that PreEnqueue holds back: shown on the pod, and free of cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.faults.simulated_api import SimulatedApi
from tests.faults.simulated_scheduler import Scheduler
from tests.loop_kit import PROFILE, World, listed, make_node, make_pod, modified, scripted

import moorage
from moorage.queueing import Place
from moorage.session import NOT_READY, Failure, Session

if TYPE_CHECKING:
    import pytest

MANY = 10_000


def gated_world(answers: dict[str, object]) -> tuple[World, list[Failure]]:
    """Make a session with a plugin that holds pods back, and the list of what is to be shown."""
    world = World(Gate=scripted(("pre_enqueue",), answers, []))
    told: list[Failure] = []
    world.session = Session({PROFILE: world.framework}, world.services, on_gated=told.append)
    return world, told


def test_why_a_plugin_holds_a_pod_back_is_told_once() -> None:
    """Asked again for the same reason, nothing is told; for another reason, it is."""
    answers: dict[str, object] = {"pre_enqueue": moorage.Verdict.unresolvable("no quota")}
    world, told = gated_world(answers)
    session = world.session
    session.pods.take(listed(make_pod("p")))
    session.pods.take(modified(make_pod("p", labels={"any": "change"})))
    assert [(one.reason, one.message) for one in told] == [(NOT_READY, "no quota")]
    answers["pre_enqueue"] = moorage.Verdict.unresolvable("no licence")
    session.pods.take(modified(make_pod("p", labels={"other": "change"})))
    assert [one.message for one in told] == ["no quota", "no licence"]
    answers["pre_enqueue"] = None
    session.pods.take(modified(make_pod("p")))
    assert session.queue.place("p") is Place.ACTIVE
    assert len(told) == 2


def test_plugin_that_raises_holds_its_pod_back_and_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the log and on the pod."""
    world, told = gated_world({"pre_enqueue": ValueError("no luck")})
    world.session.pods.take(listed(make_pod("p")))
    sentence = "plugin 'Gate' (tests) raised in pre_enqueue: ValueError: no luck"
    assert [(one.reason, one.message) for one in told] == [("SchedulerError", sentence)]
    assert f"Pod ns/p is not let into the queue: {sentence}" in caplog.text


def test_what_has_no_reason_is_not_shown() -> None:
    """A plugin that holds a pod back for a moment says nothing."""
    world, told = gated_world({"pre_enqueue": moorage.Verdict.unresolvable()})
    world.session.pods.take(listed(make_pod("p")))
    assert world.session.queue.place("p") is Place.GATED
    assert not told


def test_scheduling_gates_are_shown_by_the_api_server() -> None:
    """It has written the condition when the pod was created."""
    api = SimulatedApi()
    api.create_pod("p", gates=("wait",))
    scheduler = Scheduler(api)
    assert scheduler.session.queue.place("p") is Place.GATED
    assert not scheduler.gated


def test_many_gated_pods_cost_nothing_per_event() -> None:
    """Ten thousand are asked nothing when nodes and pods come, change and go."""
    asked = []

    class Gate(moorage.Plugin):
        """Holds all pods back; waits for storage classes."""

        @moorage.hookimpl
        def pre_enqueue(self, pod: moorage.Pod) -> moorage.Verdict | None:
            """Refuse."""
            asked.append(pod.metadata.name)
            return moorage.Verdict.unresolvable("no class")

        @moorage.hookimpl
        def events_to_register(self) -> list[moorage.EventHint]:
            """Register for what does not happen here."""
            kind = moorage.EventResource.STORAGE_CLASS
            return [moorage.EventHint(moorage.ClusterEvent(kind, moorage.ActionType.ADD))]

    world = World(Gate=Gate)

    def events(count: int) -> float:
        begun = time.process_time()
        for index in range(count):
            world.session.nodes.take(modified(make_node("n", cpu=str(index % 7 + 1))))
            world.session.pods.take(modified(make_pod(f"other{index}", node="n")))
            world.session.pods.drop(f"other{index}")
            world.session.tick()
            world.session.next_at()
        return time.process_time() - begun

    alone = min(events(200) for _ in range(3))
    world.session.pods.take(listed(*(make_pod(f"p{index}") for index in range(MANY))))
    assert len(asked) == MANY
    together = min(events(200) for _ in range(3))
    assert len(asked) == MANY
    assert world.queue.counts()[Place.GATED] == MANY
    assert together < 3 * alone + 0.05
