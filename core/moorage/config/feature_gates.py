"""Which feature gates kube-scheduler 1.36 knows.

Few concern a scheduler, and Moorage reads none. They are known so that a command line made for
kube-scheduler is taken as it is, while a misspelt gate is still found.
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

__all__ = ["FeatureGate", "known_feature_gates"]


class FeatureGate(NamedTuple):
    """A gate of kube-scheduler 1.36: its stage (ALPHA or BETA), and whether it is on by default."""

    stage: str
    default: bool


def known_feature_gates() -> dict[str, FeatureGate]:
    """Read the gates that kube-scheduler 1.36 knows, by name."""
    text = resources.files(__package__).joinpath("feature_gates.txt").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: FeatureGate(stage, default == "on") for name, stage, default in rows}
