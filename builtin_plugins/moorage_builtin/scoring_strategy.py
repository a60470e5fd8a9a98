"""How NodeResourcesFit scores: by a strategy that the configuration names, and its resources."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, field_validator, model_validator

import moorage
from moorage_builtin.resources import DEFAULT_RESOURCES, Asked, ResourceSpec
from moorage_builtin.utilization import UtilizationShapePoint, check_rising, scores_by_percent

__all__ = ["Scorer", "ScoringStrategy", "ScoringStrategyType", "scorer_of"]

Scorer = Callable[[Asked, NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
"""Scores by what is asked, requested with the pod (k, n) and allocatable (k, n); (n,) int64.

What is requested it may overwrite, and so may a rater.
"""
_Rater = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
"""Rates requested (k, n) of allocatable (k, n) that is above 0, each for itself; (k, n) int64."""


class ScoringStrategyType(StrEnum):
    """How nodes are scored by what is allocated on them."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class RequestedToCapacityRatioParam(moorage.PluginArgs):
    """The score as a line through points of rising utilisation."""

    shape: Annotated[tuple[UtilizationShapePoint, ...], AfterValidator(check_rising)] = Field(
        min_length=1, description="The points."
    )


class ScoringStrategy(moorage.PluginArgs):
    """Type and resources of the score."""

    type: ScoringStrategyType = Field(description="The strategy.")
    resources: tuple[ResourceSpec, ...] = Field(
        default=DEFAULT_RESOURCES, description="The resources that count, with weights."
    )
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = Field(
        default=None, description="The shape, for RequestedToCapacityRatio."
    )

    @field_validator("resources")
    @classmethod
    def _default(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        return resources or DEFAULT_RESOURCES

    @model_validator(mode="after")
    def _has_shape_where_it_counts(self) -> Self:
        by_shape = self.type is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO
        if by_shape != (self.requested_to_capacity_ratio is not None):
            raise ValueError(
                f"requestedToCapacityRatio must {'be given' if by_shape else 'not be given'} "
                f"when type is {self.type}"
            )
        return self


def scorer_of(strategy: ScoringStrategy) -> Scorer:
    """Return what scores by a strategy."""
    return _SCORERS[strategy.type](strategy)


def _percent(part: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return part x 100 // capacity, (k, n) int64, in the array of `part`: memory is the dearer."""
    part *= 100
    part //= capacity
    return part


def _weighted(rate: _Rater, rate_one: Callable[[int, int], int]) -> Scorer:
    """Score by the weighted mean of a rating of the resources that a node has.

    `rate_one` is the same rating of plain numbers: between two pods one row changes, and arrays of
    one cost three times as much.
    """

    def score(
        asked: Asked, requested: NDArray[np.int64], allocatable: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        if asked.weights is None and np.count_nonzero(allocatable > 0) == allocatable.size > 0:
            if allocatable.shape[1] == 1:
                pairs = zip(requested[:, 0].tolist(), allocatable[:, 0].tolist(), strict=True)
                one = sum(rate_one(used, capacity) for used, capacity in pairs) // len(allocatable)
                return np.array([one], dtype=np.int64)
            plain: NDArray[np.int64] = np.add.reduce(rate(requested, allocatable))
            plain //= len(allocatable)
            return plain
        weights = (allocatable > 0) * (1 if asked.weights is None else asked.weights)
        ratings = rate(requested, np.maximum(allocatable, 1)) * weights
        total: NDArray[np.int64] = ratings.sum(axis=0)
        mean: NDArray[np.int64] = total // np.maximum(weights.sum(axis=0), 1)
        return mean

    return score


def _least(_: ScoringStrategy) -> Scorer:
    def rate(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        free = np.subtract(capacity, requested, out=requested)
        np.maximum(free, 0, out=free)
        return _percent(free, capacity)

    return _weighted(rate, lambda used, capacity: max(capacity - used, 0) * 100 // capacity)


def _most(_: ScoringStrategy) -> Scorer:
    def rate(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        return _percent(np.minimum(requested, capacity, out=requested), capacity)

    return _weighted(rate, lambda used, capacity: min(used, capacity) * 100 // capacity)


def _by_shape(strategy: ScoringStrategy) -> Scorer:
    """Rate by a line through points; resources rated 0 do not count in the mean."""
    param = strategy.requested_to_capacity_ratio
    table = scores_by_percent(param.shape) if param is not None else np.zeros(101, dtype=np.int64)

    def score(
        asked: Asked, requested: NDArray[np.int64], allocatable: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        capacity = np.maximum(allocatable, 1)
        percent = np.where(requested > capacity, 100, requested * 100 // capacity)
        ratings = np.where(allocatable > 0, table[percent], 0)
        weights = (ratings > 0) * (1 if asked.weights is None else asked.weights)
        mean = (ratings * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1)
        # Half away from zero, where NumPy rounds half to even.
        rounded: NDArray[np.int64] = np.floor(mean + 0.5).astype(np.int64)
        return rounded

    return score


_SCORERS: dict[ScoringStrategyType, Callable[[ScoringStrategy], Scorer]] = {
    ScoringStrategyType.LEAST_ALLOCATED: _least,
    ScoringStrategyType.MOST_ALLOCATED: _most,
    ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO: _by_shape,
}
