"""Ranks nodes by a number or a time in one of their labels, after kube-scheduler-plugins' NodeMetadata.

The newest nodes first, the oldest, those of the highest cost or the lowest: whatever somebody
writes on nodes. A node without the label, or with a value that cannot be read, comes last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import moorage

__all__ = ["NodeMetadata"]


class ValueType(StrEnum):
    """What the label holds."""

    NUMBER = "Number"
    TIMESTAMP = "Timestamp"


class Order(StrEnum):
    """Which values are best; of times, Highest is the newest."""

    HIGHEST = "Highest"
    LOWEST = "Lowest"


class NodeMetadata(moorage.Plugin):
    """Ranks nodes by a number or a time in one of their labels."""

    class Args(moorage.PluginArgs):
        """Arguments, as a profile gives them in ``pluginConfig``."""

        label: str = Field(min_length=1, description="The label of nodes that is read.")
        type: ValueType = Field(
            ValueType.NUMBER, description="What it holds; times as 2026-01-31T12.00.00Z or seconds."
        )
        best: Order = Field(Order.HIGHEST, description="Which values are best.")

    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self) -> tuple[()]:
        """Return what is seen of a pod: nothing."""
        return ()

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        """Read the label, higher is better; (n,) float64, -inf replaced by the lowest float."""
        read: Callable[[str], float] = _number if self.args.type is ValueType.NUMBER else _timestamp
        sign = 1.0 if self.args.best is Order.HIGHEST else -1.0
        return nodes.map_label(
            self.args.label, lambda text: _or_last(sign * read(text)), default=_LAST
        )

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """Spread what was read over 1 to 100; nodes without a value get 0; (n,) int64."""
        known = scores > _LAST
        normal = np.zeros(len(scores), dtype=np.int64)
        if known.any():
            lowest, highest = scores[known].min(), scores[known].max()
            spread = (scores[known] - lowest) / (highest - lowest) if highest > lowest else 1.0
            normal[known] = np.floor(1 + 99 * spread)
        return normal


_LAST = -1e300
"""Behind everything that can be read; scores must be finite."""


def _or_last(value: float) -> float:
    return value if math.isfinite(value) else _LAST


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _timestamp(text: str) -> float:
    """Read seconds since 1970, or ISO 8601; a label allows no colons, so dots stand for them."""
    seconds = _number(text)
    if math.isfinite(seconds):
        return seconds
    try:
        time = datetime.fromisoformat(text.replace(".", ":"))
    except ValueError:
        return math.nan
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
