"""Recorded decisions about devices, replayed: every step equal, devices too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from moorage import Framework, Services, discover
from moorage.config import load_configuration
from moorage.config.producers import assemble
from moorage.replay import read_recording, replay
from moorage.replay.devices import _Likeness

PARITY = Path(__file__).parents[1] / "data" / "parity"


@pytest.mark.parametrize("family", ["dra", "dra_lists"])
def test_every_step_is_equal(family: str) -> None:
    """Outcome, nodes that passed, each plugin's score on each node, totals, messages, devices."""
    registry = discover()
    configuration = load_configuration(PARITY / "config.yaml")

    def profiles(services: Services, *_: object) -> Mapping[str, Framework]:
        return assemble(configuration, registry, services=services).frameworks

    report = replay(read_recording(PARITY / f"{family}.jsonl.gz"), profiles, frozenset())

    assert report.differing == []
    assert (report.scenarios, report.equal, report.apart) == (25, 125, 0)


def test_other_devices_are_a_difference() -> None:
    """Unless they are alike in all that anything asks for."""
    [scenario] = [
        one
        for one in read_recording(PARITY / "dra.jsonl.gz").scenarios()
        if one.scenario == "dra-001"
    ]
    likeness = _Likeness(scenario.objects)
    slices = scenario.objects.resourceslices
    ids = [
        (item.spec.driver, item.spec.pool.name, device.name)
        for item in slices
        for device in item.spec.devices
    ]

    assert likeness.of(ids[:1]) == likeness.of(ids[:1])
    assert likeness.of(ids[:1]) != likeness.of([("gpu.example.com", "nowhere", "g0")])
