"""Tracing: what is seen of calls, and that nobody pays who does not look."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
import pytest
from tests.testing.sample_plugins import Rank

from moorage import ConfigurationError, Registry, Verdict
from moorage.framework.assembly import new_framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.tracing import Tracer, brief
from moorage.model import PodInfo
from moorage.testing import Cluster, make_pod


def tracer(*watched: str) -> tuple[Tracer, list[str]]:
    """Make a tracer whose calls take a second each, and its lines."""
    lines: list[str] = []
    seconds = itertools.count()
    return Tracer(watched, lines.append, clock=lambda: float(next(seconds))), lines


def test_a_call_is_seen_with_arguments_answer_and_time() -> None:
    """In one line."""
    watching, lines = tracer("Zone:permit")
    call = watching.wrap("Zone", "permit", lambda state, pod, node_name: Verdict.wait(3))

    call({"kept": 1}, make_pod("a"), "n1")

    assert lines == [
        "Zone.permit(state={kept}, pod=default/a, node_name='n1') -> Wait [1000.000 ms]"
    ]


def test_a_call_that_raises_is_seen_and_raises() -> None:
    """It is counted as a fault."""
    watching, lines = tracer("*")

    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        watching.wrap("Zone", "start", fails)()

    assert lines == ["Zone.start() raised ValueError: no [1000.000 ms]"]
    (total,) = watching.totals()
    assert (total.calls, total.faults, total.seconds) == (1, 1, 1.0)


def test_a_coroutine_is_timed_until_it_ends() -> None:
    """Not until it is made."""
    watching, lines = tracer("Zone")

    async def post_bind(*_: object) -> str:
        return "done"

    call = watching.wrap("Zone", "post_bind", post_bind)
    coroutine = call({}, make_pod("a"), "n1")
    assert lines == []

    assert asyncio.run(coroutine) == "done"
    assert lines[0].endswith("-> 'done' [1000.000 ms]")


def test_totals_are_by_plugin_and_hook_the_longest_first() -> None:
    """Whatever was called in between."""
    watching, _ = tracer("*")
    often = watching.wrap("Zone", "start", lambda: None)
    once = watching.wrap("Zone", "close", lambda: None)

    once()
    often()
    often()

    assert [(one.hook, one.calls) for one in watching.totals()] == [("start", 2), ("close", 1)]


def test_a_call_that_nobody_watches_stays_as_it_is() -> None:
    """So it costs nothing."""
    watching, _ = tracer("Zone:filter")

    def call() -> None:
        """Do nothing."""

    assert watching.wrap("Zone", "score", call) is call
    assert watching.wrap("Other", "filter", call) is call
    assert watching.wrap("Zone", "filter", call) is not call
    assert watching.unseen(["Other"]) == ["Zone"]


def test_a_profile_wraps_calls_only_where_there_is_a_tracer() -> None:
    """The hot path has nothing in between."""
    watching, lines = tracer("Rank")
    services = Cluster(["n1"]).services()
    registry = Registry.of({"Rank": Rank})
    plain = new_framework(registry, ["Rank"], services=services)
    services.tracer = watching
    traced = new_framework(registry, ["Rank"], services=services)

    for framework in (plain, traced):
        (hook,) = framework.points["score"]
        hook.call({}, make_pod("a"), PodInfo(make_pod("a")), services.cluster.view())

    assert len(lines) == 1
    assert lines[0].startswith("Rank.score_nodes(state={}, pod=default/a, info=default/a, nodes=<1")


def test_a_hook_that_is_none_is_refused() -> None:
    """With the one that was meant."""
    with pytest.raises(ConfigurationError, match=r"'Zone:scores' cannot .*did you mean score"):
        tracer("Zone:scores")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (make_pod("a"), "default/a"),
        (PodInfo(make_pod("a")), "default/a"),
        (QueuedPod(PodInfo(make_pod("a")), timestamp=0.0), "default/a"),
        (Cluster(["n1", "n2"]).view(), "<2 nodes>"),
        (np.array([True, False]), "[ True False]"),
        (np.ones(100, dtype=np.bool_), "<(100,) bool, 100 true>"),
        (np.arange(100), "<(100,) int64, 0 to 99>"),
        (Verdict.unschedulable("too hot"), "Unschedulable: too hot"),
        (None, "None"),
        ("x" * 100, "'" + "x" * 79 + "..."),
    ],
)
def test_values_are_shown_in_a_few_words(value: object, text: str) -> None:
    """However large they are."""
    assert brief(value) == text
