"""Recorded decisions about affinity between pods, replayed: every step equal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from moorage import Framework, Services, discover
from moorage.config import load_configuration
from moorage.config.leaving_out import leave_out, named_plugins
from moorage.config.producers import assemble
from moorage.replay import read_recording, replay

PARITY = Path(__file__).parents[1] / "data" / "parity"


def test_every_step_is_equal() -> None:
    """Outcome, nodes that passed, each plugin's score on each node, totals, messages."""
    registry = discover()
    recording = read_recording(PARITY / "affinity.jsonl.gz")
    configuration = load_configuration(PARITY / "config.yaml")
    missing = named_plugins(configuration).difference(registry.names())
    configuration = leave_out(configuration, missing)

    def profiles(services: Services, *_: object) -> Mapping[str, Framework]:
        return assemble(configuration, registry, services=services).frameworks

    report = replay(recording, profiles, missing)

    assert report.differing == []
    assert (report.scenarios, report.equal, report.apart) == (25, 150, 0)
