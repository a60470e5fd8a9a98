"""A profile at work: life cycle, events, verdicts, sort keys, and the handle of its plugins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.framework.plugin_sources import assembled
from tests.objects import make_node, make_pod

from moorage import (
    SKIP,
    ActionType,
    ClusterEvent,
    Code,
    EventHint,
    EventResource,
    Plugin,
    PluginError,
    QueuedPod,
    Services,
    Verdict,
    hookimpl,
)
from moorage.framework.profile import Framework
from moorage.model.events import ALL

EVENT = ClusterEvent(EventResource.NODE, ActionType.ADD)


def _ran(framework: Framework) -> list[str]:
    heard: list[str] = framework.services.shared.setdefault("heard", [])
    return heard


class First(Plugin):
    """Starts plainly."""

    @hookimpl
    def start(self) -> None:
        """Say so."""
        self.handle.shared("heard", list[str]).append(f"start {self.name}")

    @hookimpl
    def close(self) -> None:
        """Say so, and fail."""
        self.handle.shared("heard", list[str]).append(f"close {self.name}")
        raise OSError("stuck")

    @hookimpl
    def score(self) -> int:
        """Be somewhere."""
        return 0


class Second(Plugin):
    """Starts asynchronously."""

    @hookimpl
    async def start(self) -> None:
        """Say so."""
        await asyncio.sleep(0)
        self.handle.shared("heard", list[str]).append(f"start {self.name}")

    @hookimpl
    async def close(self) -> None:
        """Say so."""
        self.handle.shared("heard", list[str]).append(f"close {self.name}")

    @hookimpl
    def score(self) -> int:
        """Be somewhere."""
        return 0


async def test_plugins_start_in_order_and_close_in_reverse() -> None:
    """A fault while closing goes to the caller, and the others are closed all the same."""
    framework = assembled(Second, First)
    faults: list[PluginError] = []

    await framework.start()
    await framework.close(faults.append)

    assert _ran(framework) == ["start Second", "start First", "close First", "close Second"]
    assert [str(fault) for fault in faults] == [
        "plugin 'First' (acme-plugins 2.1) raised in close: OSError: stuck"
    ]


async def test_a_failed_start_names_the_plugin() -> None:
    """And ends the start."""

    class Broken(Plugin):
        @hookimpl
        async def start(self) -> None:
            """Fail."""
            raise ConnectionError("no server")

        @hookimpl
        def score(self) -> int:
            """Be somewhere."""
            return 0

    with pytest.raises(
        PluginError,
        match=r"^plugin 'Broken' \(acme-plugins 2\.1\) raised in start: ConnectionError: no server$",
    ):
        await assembled(Broken).start()


# Events


def _registering(answer: Callable[[], Any]) -> Framework:
    class Events(Plugin):
        @hookimpl
        def events_to_register(self) -> Any:  # noqa: ANN401 - also what is wrong
            """Answer as the test says."""
            return answer()

        @hookimpl
        def filter(self) -> None:
            """Be somewhere."""

    return assembled(Events)


def test_what_a_plugin_registers_is_kept_by_name() -> None:
    """As it came."""
    framework = _registering(lambda: [EventHint(EVENT)])

    framework.register_events()

    assert framework.hints == {"Events": (EventHint(EVENT),)}


def test_who_refuses_pods_and_registers_nothing_is_retried_on_everything() -> None:
    """Who cannot refuse needs no event."""

    class Refuses(Plugin):
        @hookimpl
        def filter(self) -> None:
            """Refuse, perhaps."""

    framework = assembled(Refuses, First)

    framework.register_events()

    assert framework.hints == {"Refuses": (EventHint(ALL),), "First": ()}


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        pytest.param(
            lambda: [EVENT], "ClusterEvent, which is not a moorage.EventHint,", id="event"
        ),
        pytest.param(
            lambda: [EventHint("Node")],  # type: ignore[arg-type]
            "an EventHint of 'Node', which is not a moorage.ClusterEvent,",
            id="text",
        ),
        pytest.param(
            lambda: [EventHint(EVENT, 3)],  # type: ignore[arg-type]
            "an EventHint with 3, which cannot be called,",
            id="no-function",
        ),
        pytest.param(
            lambda: [EventHint(ClusterEvent("nodes", ActionType.ADD))],
            "an EventHint for 'nodes', which is neither a moorage.EventResource nor "
            "plural.version.group,",
            id="no-kind",
        ),
        pytest.param(
            lambda: [EventHint(ClusterEvent(EventResource.NODE, "Add"))],  # type: ignore[arg-type]
            "an EventHint for action 'Add', which is not a moorage.ActionType,",
            id="no-action",
        ),
    ],
)
def test_wrong_events_are_named(answer: Callable[[], Any], rest: str) -> None:
    """When the scheduler starts, not when the first such event comes."""
    with pytest.raises(PluginError) as caught:
        _registering(answer).register_events()
    assert str(caught.value) == (
        f"plugin 'Events' (acme-plugins 2.1) returned {rest} from events_to_register"
    )


@pytest.mark.parametrize("kind", ["Node", "configmaps.v1", "racks.v1beta1.racks.example.com"])
def test_kinds_of_events_may_be_texts(kind: str) -> None:
    """One of Moorage's own by its value, any other by plural, version and group."""
    hint = EventHint(ClusterEvent(kind, ActionType.DELETE))
    framework = _registering(lambda: [hint])

    framework.register_events()

    assert framework.hints == {"Events": (hint,)}


def test_events_that_are_no_list_or_raise_are_a_fault() -> None:
    """With the hook's name."""
    for answer in (lambda: None, lambda: 1 / 0):
        with pytest.raises(PluginError, match=r"^plugin 'Events' \(acme-plugins 2\.1\) raised in "):
            _registering(answer).register_events()


# Verdicts and keys


def _gating(answer: Callable[[], Any]) -> Framework:
    class Gate(Plugin):
        @hookimpl
        def pre_enqueue(self) -> Any:  # noqa: ANN401 - also what is wrong
            """Answer as the test says."""
            return answer()

    return assembled(Gate)


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        pytest.param(lambda: None, Code.SUCCESS, "", id="nothing"),
        pytest.param(
            lambda: Verdict.unresolvable("gated"),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "gated",
            id="refused",
        ),
        pytest.param(
            lambda: 1 / 0,
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) raised in pre_enqueue: ZeroDivisionError: division"
            " by zero",
            id="raised",
        ),
        pytest.param(
            lambda: make_pod("p1").pod.metadata.annotations,  # type: ignore[attr-defined]
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) raised in pre_enqueue: AttributeError: 'ObjectMeta'"
            " object has no attribute 'annotations'; fields that Moorage does not read itself are"
            " there if extra_fields names them",
            id="field-that-is-not-decoded",
        ),
        pytest.param(
            lambda: False,
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) returned bool from pre_enqueue, which takes a"
            " Verdict or None",
            id="wrong-type",
        ),
        pytest.param(
            lambda: Verdict("no"),  # type: ignore[arg-type]
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) returned a Verdict with code 'no' from pre_enqueue;"
            " make it with Verdict.unschedulable('why') and the like",
            id="wrong-code",
        ),
        pytest.param(
            lambda: Verdict.unschedulable(3),  # type: ignore[arg-type]
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) returned a Verdict with reasons (3,) from"
            " pre_enqueue; make it with Verdict.unschedulable('why') and the like",
            id="wrong-reason",
        ),
        pytest.param(
            lambda: Verdict.wait(3),
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) answered pre_enqueue with Wait, which has no meaning"
            " there",
            id="waits",
        ),
        pytest.param(
            lambda: SKIP,
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) answered pre_enqueue with Skip, which has no meaning"
            " there",
            id="skips",
        ),
        pytest.param(
            lambda: Verdict(Code.ERROR),
            Code.ERROR,
            "plugin 'Gate' (acme-plugins 2.1) answered pre_enqueue with Error, and did not say why",
            id="wordless",
        ),
    ],
)
def test_a_pod_at_the_gate(answer: Callable[[], Any], code: Code, message: str) -> None:
    """A fault keeps it aside with the reason, as a refusal does."""
    verdict = _gating(answer).pre_enqueue(make_pod("p").pod)

    assert verdict.code is code
    assert verdict.message == message
    assert verdict.plugin == ("" if code is Code.SUCCESS else "Gate")


def test_a_verdict_names_its_plugin_whatever_the_plugin_says() -> None:
    """Whose events bring a pod back is not for a plugin to decide."""
    framework = _gating(lambda: Verdict.unschedulable("x").of("SomebodyElse"))

    assert framework.pre_enqueue(make_pod("p").pod).plugin == "Gate"


def test_a_plugin_error_that_a_plugin_raises_is_worded_like_any_other() -> None:
    """Only those that name the plugin already stay as they are."""

    def fail() -> None:
        raise PluginError("prices are down")

    verdict = _gating(fail).pre_enqueue(make_pod("p").pod)

    assert verdict.message == (
        "plugin 'Gate' (acme-plugins 2.1) raised in pre_enqueue: PluginError: prices are down"
    )


def test_pods_that_a_plugin_fails_to_sort_come_last_by_rank(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No key may bring the queue down: not one that was not made, nor one that compares to none."""

    class Sort(Plugin):
        @hookimpl
        def queue_sort(self, queued: QueuedPod) -> Any:  # noqa: ANN401 - also what is wrong
            """Sort by the label, which may say too little."""
            key = queued.pod.metadata.labels.get("key", "")
            return (
                {"none": None, "text": "text"}.get(key) if key in {"none", "text"} else float(key)
            )

    framework = assembled(Sort)
    labels = ["2.5", "none", "text", "what?", "1", "7"]
    pods = [
        QueuedPod(make_pod(key, labels={"key": key}, priority=index), timestamp=0.0)
        for index, key in enumerate(labels)
    ]

    with caplog.at_level(logging.ERROR):
        keys = {pod.pod.metadata.name: framework.sort_key(pod) for pod in pods}

    assert sorted(keys, key=lambda name: keys[name]) == ["1", "2.5", "7", "what?", "text", "none"]
    assert "plugin 'Sort' (acme-plugins 2.1) raised in queue_sort: ValueError" in caplog.text


# The handle


def test_the_handle_is_the_way_to_the_cluster() -> None:
    """Nodes and pods as they are in the cache, assumed pods included."""
    framework = assembled(First)
    handle = framework.plugin("First").handle
    framework.services.cluster.set_node(make_node("n1"))
    pod = make_pod("p")
    framework.services.cluster.assume(pod.on_node("n1"), 0)

    assert [node.metadata.name for node in handle.nodes()] == ["n1"]
    assert handle.node("n1") is not None
    assert handle.node("n2") is None
    assert [pod.metadata.name for pod in handle.pods()] == ["p"]


def test_what_is_shared_is_made_once_for_all_profiles() -> None:
    """Or two profiles would give out the same device."""
    services = Services()
    one = assembled(First, services=services).plugin("First").handle
    other = assembled(First, services=services).plugin("First").handle

    assert one.shared("devices", list) is other.shared("devices", list)
    assert one.shared("others", list) is not one.shared("devices", list)


def test_an_informer_is_one_for_all_who_ask() -> None:
    """And knows who would go without."""
    framework = assembled(First, Second)
    first = framework.plugin("First").handle.informer("acme.dev", "v1", "prices")
    second = framework.plugin("Second").handle.informer("acme.dev", "v1", "prices")

    assert first is second
    assert first.asked_by == {"First", "Second"}
    assert first.kind.event_resource == "prices.v1.acme.dev"
    first.put({"metadata": {"name": "a", "namespace": "ns"}, "price": 3})
    assert first.get("a", "ns") == {"metadata": {"name": "a", "namespace": "ns"}, "price": 3}
    assert first.get("a") is None
    assert len(first) == 1


def test_a_plugin_that_needs_an_api_server_is_told_where_there_is_none() -> None:
    """By name, with what to do."""
    with pytest.raises(PluginError, match=r"^plugin 'First' needs an API server"):
        _ = assembled(First).plugin("First").handle.client


def test_clock_and_chance_come_from_outside() -> None:
    """So that a simulation decides what time it is."""
    services = Services(clock=lambda: 42.0)
    handle = assembled(First, services=services).plugin("First").handle

    assert handle.clock() == 42.0
    assert handle.generator is services.generator
