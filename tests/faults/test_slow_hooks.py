"""A hook that keeps everything waiting is named once it is over."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.loop_kit import World, added, listed, make_node, make_pod

import moorage
from moorage.framework import slowness
from moorage.model.events import ActionType, ClusterEvent, EventResource

LONG = 0.02


@pytest.mark.parametrize(
    "hook",
    ["pre_enqueue", "pre_filter", "filter", "filter_nodes", "score", "reserve", "permit"],
)
def test_a_slow_hook_is_named(
    hook: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Plugin, distribution, hook, pod and time, in one warning; whatever it answers."""
    monkeypatch.setattr(slowness, "SLOW_SECONDS", LONG)

    def slow(self: moorage.Plugin) -> Any:  # noqa: ANN401 - what the hook answers
        time.sleep(LONG)
        return 1 if hook == "score" else None

    plugin = type("Slow", (moorage.Plugin,), {hook: moorage.hookimpl(slow)})
    world = World(Slow=plugin)
    world.session.nodes.take(listed(make_node("n1"), make_node("n2")))
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("plugin 'Slow' (tests) took 0.")
    assert f" s in {hook} for pod ns/p; nothing else is scheduled meanwhile" in warnings[0]


def test_a_slow_hint_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Hints run in the loop as well."""
    monkeypatch.setattr(slowness, "SLOW_SECONDS", LONG)

    class Slow(moorage.Plugin):
        """Refuses everything, and takes its time to say what may help."""

        @moorage.hookimpl
        def events_to_register(self) -> tuple[moorage.EventHint, ...]:
            """Register for nodes."""
            return (moorage.EventHint(ClusterEvent(EventResource.NODE, ActionType.ALL), self.hint),)

        def hint(self, pod: moorage.Pod, old: object, new: object) -> moorage.QueueingHint:
            """Take long."""
            time.sleep(LONG)
            return moorage.QueueingHint.SKIP

        @moorage.hookimpl
        def pre_filter(self) -> moorage.Verdict:
            """Refuse."""
            return moorage.Verdict.unschedulable("never")

    world = World(Slow=Slow)
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    world.session.nodes.take(added(make_node("n2")))
    assert "s in its hint for NodeAdd; nothing else is scheduled meanwhile" in caplog.text


def test_nothing_is_said_of_quick_hooks(caplog: pytest.LogCaptureFixture) -> None:
    """All is well."""
    world = World()
    world.session.nodes.take(listed(make_node("n1")))
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    assert "took" not in caplog.text
