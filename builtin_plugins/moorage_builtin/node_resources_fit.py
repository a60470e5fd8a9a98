"""NodeResourcesFit: a pod's requests must fit what a node has left; scored by a strategy."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

import moorage
from moorage.model import amounts_of
from moorage_builtin.resources import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    is_extended,
    requested_and_allocatable,
)

__all__ = ["NodeResourcesFit", "NodeResourcesFitArgs"]

_MOST_RESOURCES = 29
"""Resources that get a bit of their own in a code; a pod that asks for more shares the last."""


class ScoringStrategyType(StrEnum):
    """How nodes are scored by what is allocated on them."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class UtilizationShapePoint(moorage.PluginArgs):
    """A point of the score over utilisation."""

    utilization: int = Field(ge=0, le=100, description="Percent of the resource requested.")
    score: int = Field(ge=0, le=10, description="The score there, 0 to 10.")


class RequestedToCapacityRatioParam(moorage.PluginArgs):
    """The score as a line through points of rising utilisation."""

    shape: tuple[UtilizationShapePoint, ...] = Field(min_length=1, description="The points.")

    @field_validator("shape")
    @classmethod
    def _rises(cls, shape: tuple[UtilizationShapePoint, ...]) -> tuple[UtilizationShapePoint, ...]:
        utilizations = [point.utilization for point in shape]
        if sorted(set(utilizations)) != utilizations:
            raise ValueError("utilization values must be rising")
        return shape


class ScoringStrategy(moorage.PluginArgs):
    """Type and resources of the score."""

    type: ScoringStrategyType = Field(
        default=ScoringStrategyType.LEAST_ALLOCATED, description="The strategy."
    )
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
    def _has_shape(self) -> Self:
        if (
            self.type is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO
            and self.requested_to_capacity_ratio is None
        ):
            raise ValueError(
                "requestedToCapacityRatio must be given when type is RequestedToCapacityRatio"
            )
        return self


class NodeResourcesFitArgs(moorage.PluginArgs):
    """Arguments of NodeResourcesFit."""

    ignored_resources: tuple[str, ...] = Field(
        default=(), description="Extended resources that the filter ignores."
    )
    ignored_resource_groups: tuple[str, ...] = Field(
        default=(), description="Groups (before the slash) of extended resources to ignore."
    )
    scoring_strategy: ScoringStrategy = Field(
        default=ScoringStrategy(), description="How nodes are scored."
    )

    @field_validator("ignored_resource_groups")
    @classmethod
    def _no_slash(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        for group in groups:
            if "/" in group:
                raise ValueError(f"resource group name {group!r} can't contain '/'")
        return groups


class NodeResourcesFit(moorage.Plugin):
    """Filters by what is left of resources, scores by what is allocated of them."""

    Args = NodeResourcesFitArgs
    filter_depends = moorage.Depends(node=True, pods=True)
    score_depends = moorage.Depends(node=True, pods=True)

    def __init__(self, args: NodeResourcesFitArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._strategy = args.scoring_strategy
        self._score = _SCORERS[args.scoring_strategy.type](args.scoring_strategy)

    @moorage.hookimpl
    def sign(self, info: moorage.PodInfo) -> Hashable:
        """Only the requests matter."""
        return info.requests

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, info: moorage.PodInfo) -> None:
        """List what the pod asks for: itself first, then its requests that are not ignored."""
        wanted = [("pods", 1)]
        wanted += [
            (name, amount)
            for name, amount in info.requests.amounts
            if amount > 0 and not self._ignores(name)
        ]
        state["wanted"] = wanted
        state["names"] = [name for name, _ in wanted]
        state["amounts"] = np.array([amount for _, amount in wanted], dtype=np.int64)[:, np.newaxis]

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int64] | None:
        """Return (n,) codes: a bit for each resource that is short, and bit 0 if it always is."""
        allocatable = nodes.allocatable_of(state["names"])
        amounts: NDArray[np.int64] = state["amounts"]
        short = amounts > allocatable - nodes.requested_of(state["names"])
        if not short.any():
            return None
        bits = 2 << np.arange(len(short)).clip(max=_MOST_RESOURCES)
        codes: NDArray[np.int64] = np.bitwise_or.reduce(short * bits[:, np.newaxis], axis=0)
        # The number of pods is never said to be out of reach.
        never = (amounts[1:] > allocatable[1:]).any(axis=0)
        codes[never] |= 1
        return codes

    @moorage.hookimpl
    def explain(self, state: moorage.CycleState, code: int) -> moorage.Verdict:
        """Name each resource that is short; what is beyond a node's size no preemption helps."""
        reasons = [
            "Too many pods" if name == "pods" else f"Insufficient {name}"
            for index, (name, _) in enumerate(state["wanted"])
            if code & (2 << min(index, _MOST_RESOURCES))
        ]
        if code & 1:
            return moorage.Verdict.unresolvable(*reasons)
        return moorage.Verdict.unschedulable(*reasons)

    @moorage.hookimpl
    def score_nodes(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Score 0 to 100 by the strategy's resources with the pod added; (n,) int64."""
        return self._score(info, nodes)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when pods go or shrink, or nodes come or grow."""
        action, resource = moorage.ActionType, moorage.EventResource
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    resource.ASSIGNED_POD, action.DELETE | action.UPDATE_POD_SCALE_DOWN
                ),
                self._frees_something,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.UNSCHEDULED_POD, action.UPDATE_POD_SCALE_DOWN),
                self._frees_something,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.NODE, action.ADD | action.UPDATE_NODE_ALLOCATABLE),
                self._node_has_more,
            ),
        ]

    def _ignores(self, resource: str) -> bool:
        return is_extended(resource) and (
            resource in self._ignored or resource.partition("/")[0] in self._ignored_groups
        )

    def _wanted(self, pod: moorage.Pod) -> dict[str, int]:
        requests = moorage.PodInfo(pod).requests
        return {
            name: amount
            for name, amount in requests.amounts
            if amount > 0 and not self._ignores(name)
        }

    def _frees_something(
        self, pod: moorage.Pod, before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        if before is None:
            return moorage.QueueingHint.SKIP
        if after is None:
            freed = bool(before.spec.node_name)
            return moorage.QueueingHint.QUEUE if freed else moorage.QueueingHint.SKIP
        old, new = self._wanted(before), self._wanted(after)
        own = after.metadata.uid == pod.metadata.uid
        wanted = old if own else self._wanted(pod)
        shrunk = any(new.get(name, 0) < old.get(name, 0) for name in wanted)
        return moorage.QueueingHint.QUEUE if shrunk else moorage.QueueingHint.SKIP

    def _node_has_more(
        self, pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
    ) -> moorage.QueueingHint:
        if after is None:
            return moorage.QueueingHint.SKIP
        wanted = self._wanted(pod) | {"pods": 1}
        new = amounts_of(after.status.allocatable)
        if any(amount > new.get(name, 0) for name, amount in wanted.items()):
            return moorage.QueueingHint.SKIP
        if before is not None:
            old = amounts_of(before.status.allocatable)
            if not any(new.get(name, 0) > old.get(name, 0) for name in wanted):
                return moorage.QueueingHint.SKIP
        return moorage.QueueingHint.QUEUE


_Scorer = Callable[[moorage.PodInfo, moorage.NodesView], NDArray[np.int64]]
_Rater = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


def _weighted(strategy: ScoringStrategy, rate: _Rater) -> _Scorer:
    """Score by the mean of a rating (requested, allocatable) of resources that a node has."""

    def score(info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.int64]:
        total = np.zeros(len(nodes), dtype=np.int64)
        weights: NDArray[np.int64] | int = 0
        for spec, requested, allocatable, own in requested_and_allocatable(
            info, nodes, strategy.resources, with_defaults=True
        ):
            has = allocatable > 0
            rating = rate(requested + own, np.maximum(allocatable, 1))
            if has.all():
                total += rating * spec.weight
                weights = weights + spec.weight
            else:
                total += rating * spec.weight * has
                weights = weights + spec.weight * has
        mean: NDArray[np.int64] = total // np.maximum(weights, 1)
        return mean

    return score


def _least(strategy: ScoringStrategy) -> _Scorer:
    def rate(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum(capacity - requested, 0) * 100 // capacity

    return _weighted(strategy, rate)


def _most(strategy: ScoringStrategy) -> _Scorer:
    def rate(requested: NDArray[np.int64], capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(requested, capacity) * 100 // capacity

    return _weighted(strategy, rate)


def _by_shape(strategy: ScoringStrategy) -> _Scorer:
    """Rate by a line through points; resources rated 0 do not count in the mean."""
    param = strategy.requested_to_capacity_ratio
    table = _shape_table(param) if param is not None else np.zeros(101, dtype=np.int64)

    def score(info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.int64]:
        total = np.zeros(len(nodes), dtype=np.int64)
        weights = np.zeros(len(nodes), dtype=np.int64)
        for spec, requested, allocatable, own in requested_and_allocatable(
            info, nodes, strategy.resources, with_defaults=True
        ):
            capacity = np.maximum(allocatable, 1)
            used = requested + own
            percent = np.where(used > capacity, 100, used * 100 // capacity)
            rating = np.where(allocatable > 0, table[percent], 0)
            total += rating * spec.weight
            weights += np.where(rating > 0, spec.weight, 0)
        mean = total.astype(np.float64) / np.maximum(weights, 1)
        # Half away from zero, where NumPy rounds half to even.
        return np.floor(mean + 0.5).astype(np.int64)

    return score


def _shape_table(param: RequestedToCapacityRatioParam) -> NDArray[np.int64]:
    """Return the score, 0 to 100, for each percent of utilisation; (101,) int64."""
    points = [(point.utilization, point.score * 10) for point in param.shape]

    def at(percent: int) -> int:
        if percent <= points[0][0]:
            return points[0][1]
        for (x0, y0), (x1, y1) in pairwise(points):
            if percent <= x1:
                # Integers are divided towards zero, also where the line falls.
                return y0 + int((y1 - y0) * (percent - x0) / (x1 - x0))
        return points[-1][1]

    return np.array([at(percent) for percent in range(101)], dtype=np.int64)


_SCORERS: dict[ScoringStrategyType, Callable[[ScoringStrategy], _Scorer]] = {
    ScoringStrategyType.LEAST_ALLOCATED: _least,
    ScoringStrategyType.MOST_ALLOCATED: _most,
    ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO: _by_shape,
}
