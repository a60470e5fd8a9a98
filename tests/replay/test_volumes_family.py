"""Recorded decisions about volumes, and retries after them, replayed: every step equal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from moorage import Framework, Services, discover
from moorage.config import load_configuration
from moorage.config.leaving_out import leave_out, named_plugins
from moorage.config.producers import assemble
from moorage.replay import Report, read_recording, replay, replay_requeueing

DATA = Path(__file__).parents[1] / "data"
CONFIGURATION = DATA / "parity" / "config.yaml"


def _report(path: Path) -> Report:
    registry = discover()
    configuration = load_configuration(CONFIGURATION)
    missing = named_plugins(configuration).difference(registry.names())
    configuration = leave_out(configuration, missing)

    def profiles(services: Services, names: Collection[str]) -> Mapping[str, Framework]:
        made = assemble(configuration, registry, services=services).frameworks
        return {name: made[name] for name in names}

    if path.suffix == ".json":
        return replay_requeueing(path, profiles, missing)
    return replay(read_recording(path), profiles, missing)


def test_every_step_is_equal() -> None:
    """Outcome, nodes that passed, each plugin's score on each node, totals, messages."""
    report = _report(DATA / "parity" / "volumes.jsonl.gz")

    assert report.differing == []
    assert (report.scenarios, report.equal, report.apart) == (25, 125, 0)


def test_the_same_events_bring_a_pod_back() -> None:
    """A claim, a volume, a claim that gets bound; another claim does not."""
    report = _report(DATA / "requeue" / "kube-scheduler-1.36.json")

    volumes = [step for step in report.steps if step.scenario.startswith("volume/")]
    assert len(volumes) == 4
    assert [step for step in volumes if step.differences or step.is_apart] == []
