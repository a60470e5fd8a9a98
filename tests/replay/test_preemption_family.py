"""Recorded preemptions: nominated nodes, victims, whole messages, where pods were bound at last."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.objects import make_node, make_pod, queued

from moorage import Services, discover
from moorage.config.leaving_out import leave_out, named_plugins
from moorage.config.load import load_configuration
from moorage.config.producers import assemble
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.replay import read_recording, replay
from moorage.replay.comparing import differences
from moorage.replay.recording import RecordedStep

PARITY = Path(__file__).parent.parent / "data" / "parity"
REFUSED = "0/2 nodes are available: 2 Insufficient cpu."


def test_every_step_is_equal() -> None:
    """Messages whole, but for what plugins say that are not installed."""
    registry = discover()
    configuration = load_configuration(PARITY / "config.yaml")
    absent = named_plugins(configuration) - set(registry.names())
    reduced = leave_out(configuration, absent)
    report = replay(
        read_recording(PARITY / "preemption.jsonl.gz"),
        lambda services, _: assemble(reduced, registry, services=services).frameworks,
        frozenset(absent),
    )
    assert [step.differences for step in report.differing] == []
    assert report.equal == len(report.steps) == 107


@pytest.fixture
def decision() -> Decision:
    """Decide for a pod that can have either of two nodes at the same price."""
    services = Services()
    for name in ("n1", "n2"):
        services.cluster.set_node(make_node(name, allocatable={"cpu": "1"}))
        victim = make_pod(f"low-{name}", node=name, requests={"cpu": "1"})
        services.cluster.add_pod(victim)
    framework = new_framework(
        discover(), ["NodeResourcesFit", "DefaultPreemption"], services=services
    )
    info = make_pod("high", priority=9, requests={"cpu": "1"})
    return Cycle(framework, services.cluster).decide(queued(info), details=True)


def recorded(decision: Decision, **fields: object) -> RecordedStep:
    """Make the record of a refused pod."""
    step = RecordedStep(pod=decision.info.pod, outcome="unschedulable", message=REFUSED)
    return msgspec.structs.replace(step, **fields)


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_any_of_equal_nodes_is_right(decision: Decision, node: str) -> None:
    """With the victims that it has."""
    step = recorded(decision, nominated=node, victims=[f"ns/low-{node}"])
    assert differences(step, decision, frozenset()) == []


def test_other_victims_are_a_difference(decision: Decision) -> None:
    """They are shown with their node."""
    step = recorded(decision, nominated="n1", victims=["ns/other"])
    [found] = differences(step, decision, frozenset())
    assert (found.what, found.expected, found.got) == ("victims", ["ns/other"], ["ns/low-n1"])
    assert found.node == "n1"


@pytest.mark.parametrize("nominated", [None, "n3"])
def test_another_nomination_is_a_difference(decision: Decision, nominated: str | None) -> None:
    """Also where none was recorded."""
    step = recorded(decision, nominated=nominated)
    [found] = differences(step, decision, frozenset())
    assert (found.what, found.expected, found.got) == ("nominated", nominated, ["n1", "n2"])


def test_nominations_are_left_alone_where_no_plugin_makes_them(decision: Decision) -> None:
    """What is missing is left out of the comparison."""
    step = recorded(decision, nominated="n3")
    assert differences(step, decision, frozenset({"DefaultPreemption"})) == []
