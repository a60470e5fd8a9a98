"""Every metric that a kube-scheduler 1.36 was seen to serve: name, type, labels, buckets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.metrics import Histogram, Metrics
from moorage.metrics.families import Family

RECORDED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "metrics" / "kube-scheduler-1.36.json").read_text()
)


def families() -> dict[str, Family]:
    """Return our families by name."""
    return {family.name: family for family in Metrics().families()}


@pytest.mark.parametrize("name", [name for name in RECORDED if not name.startswith("process_")])
def test_family_is_the_recorded_one(name: str) -> None:
    """Type, labels and buckets, to the last digit."""
    recorded = RECORDED[name]
    family = families()[name]
    assert family.kind == recorded["type"]
    assert set(family.labels) == set(recorded.get("labels", {}))
    if isinstance(family, Histogram):
        wanted = [float(bound) for bound in recorded["buckets"]]
        assert [*family.bounds, float("inf")] == wanted


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("process_")])
def test_process_tells_the_same(name: str) -> None:
    """The numbers of the process come from the library and from us."""
    assert f"# TYPE {name} {RECORDED[name]['type']}\n" in Metrics().text().decode()


def test_build_is_told() -> None:
    """Moorage's version stands beside that of Kubernetes."""
    text = Metrics().text().decode()
    assert "\nmoorage_build_info{" in text
    assert 'minor="36"' in text
