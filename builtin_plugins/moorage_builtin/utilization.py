"""A score as a line through points of rising utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import moorage

__all__ = ["UtilizationShapePoint", "check_rising", "scores_by_percent"]


class UtilizationShapePoint(moorage.PluginArgs):
    """A point of the score over utilisation."""

    utilization: int = Field(ge=0, le=100, description="Percent of the resource requested.")
    score: int = Field(ge=0, le=10, description="The score there, 0 to 10.")


def check_rising(shape: tuple[UtilizationShapePoint, ...]) -> tuple[UtilizationShapePoint, ...]:
    """Return the points; ValueError where their utilisation does not rise."""
    utilizations = [point.utilization for point in shape]
    if sorted(set(utilizations)) != utilizations:
        raise ValueError("utilization values must be rising")
    return shape


def scores_by_percent(shape: Sequence[UtilizationShapePoint]) -> NDArray[np.int64]:
    """Return the score, 0 to 100, for each percent of utilisation; (101,) int64."""
    points = [(point.utilization, point.score * 10) for point in shape]

    def at(percent: int) -> int:
        if percent <= points[0][0]:
            return points[0][1]
        for (x0, y0), (x1, y1) in pairwise(points):
            if percent <= x1:
                # Integers are divided towards zero, also where the line falls.
                return y0 + int((y1 - y0) * (percent - x0) / (x1 - x0))
        return points[-1][1]

    return np.array([at(percent) for percent in range(101)], dtype=np.int64)
