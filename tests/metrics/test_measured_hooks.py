"""Which extension points and plugins are measured, and by which outcome, in each way a pod may go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.loop_kit import PROFILE, World, added, make_node, make_pod, scripted

import moorage
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.framework.verdict import SKIP
from moorage.metrics.families import Histogram
from moorage.metrics.scheduling import SchedulingMetrics

POINTS = ("PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve")
BINDING = ("permit", "reserve", "unreserve", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind")


def plugin(**hooks: Callable[..., Any]) -> type[moorage.Plugin]:
    """Make a plugin of functions that take `self` alone."""
    found: dict[str, Any] = {}
    for name, function in hooks.items():
        function.__name__ = name
        found[name] = moorage.hookimpl(function)
    return type("Measured", (moorage.Plugin,), found)


def fail(_: moorage.Plugin) -> None:
    """Fail."""
    raise RuntimeError("out of order")


def families(world: World) -> SchedulingMetrics:
    """Return what was measured."""
    return world.services.metrics.scheduling


def seen(family: Histogram, *labels: str) -> set[tuple[str, ...]]:
    """Return the series that have values, by some of their labels."""
    places = [family.labels.index(label) for label in labels]
    return {
        tuple(series[place] for place in places)
        for series in list(family._series)
        if family.count(*series)
    }


def outcomes(world: World) -> dict[str, str]:
    """Return extension points with their outcome."""
    pairs = seen(families(world).point_seconds, "extension_point", "status")
    return {point: status for point, status in pairs if point in POINTS}


def attempted(*, cpu: str = "1", nodes: int = 2, **hooks: Callable[..., Any]) -> World:
    """Try one pod in a cluster of nodes with 4 cpu, with a further plugin."""
    world = World(Measured=plugin(**hooks)) if hooks else World()
    world.session.nodes.take(added(*(make_node(f"n{index}") for index in range(nodes))))
    world.session.pods.take(added(make_pod("p", cpu=cpu)))
    world.session.attempt()
    return world


# The cycle


def test_filter_is_a_success_though_no_node_passes() -> None:
    """What was asked was answered; kube-scheduler counts only faults otherwise."""
    world = attempted(cpu="9")
    assert outcomes(world) == dict.fromkeys(("PreEnqueue", "PreFilter", "Filter"), "Success")


def test_time_to_find_that_there_is_no_node_counts() -> None:
    """As that to find one."""
    assert families(attempted(cpu="9")).algorithm_seconds.count() == 1
    assert families(attempted(filter=fail)).algorithm_seconds.count() == 1


def test_without_nodes_nobody_is_asked() -> None:
    """The attempt itself counts, and how long it took."""
    world = attempted(nodes=0, post_filter=lambda _: None)
    assert outcomes(world) == {"PreEnqueue": "Success"}
    assert families(world).algorithm_seconds.count() == 1
    assert families(world).attempts.value("unschedulable", PROFILE) == 1


def test_gate_that_refuses_is_a_success_of_its_point() -> None:
    """A kube-scheduler 1.36 was recorded with a gated pod, and no other outcome."""
    world = attempted(pre_enqueue=lambda _: moorage.Verdict.unresolvable("not yet"))
    assert outcomes(world) == {"PreEnqueue": "Success"}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(None, "Unschedulable", id="nothing"),
        pytest.param(moorage.Nomination("n1"), "Success", id="a-node"),
        pytest.param(moorage.Nomination(""), "Unschedulable", id="no-node"),
        pytest.param(moorage.Verdict.unschedulable("no"), "Unschedulable", id="a-refusal"),
        pytest.param(
            moorage.Verdict.unresolvable("never"), "UnschedulableAndUnresolvable", id="for-good"
        ),
        pytest.param(moorage.Verdict.error("lost"), "Error", id="an-error"),
    ],
)
def test_post_filter_ends_as_its_plugins_say(answer: object, status: str) -> None:
    """A node is a success; the last word stands for all."""
    world = attempted(cpu="9", post_filter=lambda _: answer)
    assert outcomes(world)["PostFilter"] == status


@pytest.mark.parametrize(
    ("hook", "before", "point"),
    [
        ("pre_filter", (), "PreFilter"),
        ("filter", ("PreFilter",), "Filter"),
        ("pre_score", ("PreFilter", "Filter"), "PreScore"),
        ("score", ("PreFilter", "Filter", "PreScore"), "Score"),
    ],
)
def test_point_where_a_plugin_fails_ends_in_error(
    hook: str, before: tuple[str, ...], point: str
) -> None:
    """Those before it were passed, and those after it not reached."""
    hooks = {hook: fail} if hook != "pre_score" else {hook: fail, "score": lambda _: 1}
    expected = dict.fromkeys(("PreEnqueue", *before), "Success")
    assert outcomes(attempted(**hooks)) == {**expected, point: "Error"}


def test_post_filter_that_raises_ends_in_error() -> None:
    """The nodes were filtered all the same."""
    assert outcomes(attempted(cpu="9", post_filter=fail)) == {
        **dict.fromkeys(("PreEnqueue", "PreFilter", "Filter"), "Success"),
        "PostFilter": "Error",
    }


def test_plugin_that_skips_a_pod_is_not_counted_as_asked() -> None:
    """It was not evaluated, in kube-scheduler's words."""

    def filter_nodes(_: moorage.Plugin) -> np.ndarray[Any, Any]:
        return np.ones(2, dtype=np.bool_)

    world = attempted(
        pre_filter=lambda _: SKIP,
        filter_nodes=filter_nodes,
        pre_score=lambda _: SKIP,
        score=lambda _: 1,
    )
    asked = families(world).evaluations
    for point in ("PreFilter", "Filter", "PreScore", "Score"):
        assert asked.value("Measured", point, PROFILE) == 0, point
    assert asked.value("Room", "Filter", PROFILE) == 1


# On the way to a node


async def on_its_way(answers: dict[str, Any], *, attempts: int = 1) -> World:
    """Try pods one after another, and bring each to its node or undo it."""
    world = World(A=scripted(BINDING, answers, [], asynchronous=True))
    world.session.nodes.take(added(make_node("n1", cpu="99")))
    binder = Binder(DaemonThreads(limit=1), _announce)
    for index in range(attempts):
        world.session.pods.take(added(make_pod(f"p{index}")))
        reservation = world.session.attempt()
        if not isinstance(reservation, Reservation):
            continue
        verdict = await binder.bind(reservation, lambda: None)
        if verdict.is_success:
            world.session.bound(reservation)
            await binder.post_bind(reservation)
        else:
            world.session.undo(reservation, verdict)
    return world


async def _announce(_: Reservation) -> None:
    """Tell nobody."""


@pytest.mark.parametrize(
    ("answer", "status"), [(SKIP, "Skip"), (None, "Success"), (RuntimeError("lost"), "Error")]
)
async def test_pre_flight_is_a_skip_where_nobody_has_work(answer: object, status: str) -> None:
    """kube-scheduler tells by that which pods wait for something."""
    world = await on_its_way({"pre_bind_pre_flight": answer})
    seconds = families(world).point_seconds
    assert seconds.count("PreBindPreFlight", status, PROFILE) == 1


@pytest.mark.parametrize("hook", ["reserve", "permit", "pre_bind", "bind"])
async def test_unreserve_is_measured_wherever_a_pod_is_turned_down(hook: str) -> None:
    """It cannot fail."""
    world = await on_its_way({hook: RuntimeError("lost")})
    assert families(world).point_seconds.count("Unreserve", "Success", PROFILE) == 1


async def test_every_hook_of_a_sampled_pod_is_timed() -> None:
    """Those of binding too, though that goes on while other pods are tried."""
    world = await on_its_way({}, attempts=10)
    timed = seen(families(world).plugin_seconds, "plugin", "extension_point")
    points = ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind")
    assert timed == {("Room", "Filter"), *(("A", point) for point in points)}


async def test_hooks_that_undo_a_sampled_pod_are_timed() -> None:
    """With how the others ended."""
    world = await on_its_way({"bind": moorage.Verdict.error("lost")}, attempts=10)
    timed = seen(families(world).plugin_seconds, "extension_point", "status")
    assert {("Bind", "Error"), ("Unreserve", "Success")} <= timed


def test_gates_post_filters_and_signatures_are_timed() -> None:
    """Each with its outcome; who cannot sign a pod refuses to."""
    measured = plugin(
        pre_enqueue=lambda _: None,
        sign=lambda _: None,
        filter_nodes=lambda _: np.zeros(1, dtype=np.bool_),
        post_filter=lambda _: moorage.Verdict.unschedulable("no"),
    )
    measured.filter_depends = moorage.Depends(node=True)
    world = World(Measured=measured)
    world.session.nodes.take(added(make_node("n1")))
    for index in range(10):
        world.session.pods.take(added(make_pod(f"p{index}")))
        world.session.attempt()
    timed = seen(families(world).plugin_seconds, "plugin", "extension_point", "status")
    assert {
        ("Measured", "PreEnqueue", "Success"),
        ("Measured", "Sign", "Unschedulable"),
        ("Measured", "PostFilter", "Unschedulable"),
    } <= timed
