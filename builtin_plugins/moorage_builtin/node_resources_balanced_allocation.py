"""NodeResourcesBalancedAllocation: prefers nodes whose resources a pod brings closer together."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import moorage
from moorage_builtin.dynamic_resources.counting import DeviceCounts
from moorage_builtin.resources import DEFAULT_RESOURCES, Asked, ResourceSpec

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesBalancedAllocationArgs"]

_UNCHANGED = 150
_TWO = 2
"""Resources whose standard deviation is simply half their distance."""


class NodeResourcesBalancedAllocationArgs(moorage.PluginArgs):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceSpec, ...] = Field(
        default=DEFAULT_RESOURCES, description="The resources to balance; weights are not used."
    )

    @field_validator("resources")
    @classmethod
    def _each_once(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        names = [spec.name for spec in resources]
        for spec in resources:
            if names.count(spec.name) > 1:
                raise ValueError(f"{spec.name} is listed more than once")
            if spec.weight != 1:
                raise ValueError(f"resource weight of {spec.name} must be 1, got {spec.weight}")
        return resources or DEFAULT_RESOURCES


class NodeResourcesBalancedAllocation(moorage.Plugin):
    """Scores by how the spread of a node's utilisations changes with the pod."""

    Args = NodeResourcesBalancedAllocationArgs
    score_depends = moorage.Depends(node=True, pods=True)

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._names = frozenset(spec.name for spec in args.resources)
        self._devices = DeviceCounts(handle)

    @moorage.hookimpl
    def sign(self, info: moorage.PodInfo) -> Hashable | None:
        """Only the requests matter; where devices count, the next pod finds others left."""
        counted = (name for name, _ in info.requests.amounts if name in self._names)
        return None if self._devices.behind(counted) else info.requests

    @moorage.hookimpl
    def pre_score(self, state: moorage.CycleState, info: moorage.PodInfo) -> moorage.Verdict | None:
        """Skip pods that request none of the resources: they would all go to one node."""
        asked = Asked.of(info, self.args.resources, with_defaults=False)
        if not np.count_nonzero(asked.own):
            return moorage.SKIP
        state["asked"] = asked
        return None

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Score 50 to 100, 75 where the pod changes nothing; (n,) int64.

        Balance is 100 x (1 - standard deviation of the utilisations), rounded down; the score is
        75 plus half of what the pod adds to it.
        """
        asked: Asked = state["asked"]
        allocatable, requested = self._devices.amounts(asked, nodes)
        has = allocatable > 0
        everywhere = np.count_nonzero(has) == has.size
        only_two = everywhere and len(has) == _TWO
        if only_two and len(nodes) == 1:
            return _score_of_one(asked, requested, allocatable)
        capacity = (allocatable if everywhere else np.maximum(allocatable, 1)).astype(np.float64)
        # Whole points first, then the change, then halved: so that 75 is "no change".
        score = _balance(requested + asked.own, capacity, None if only_two else has)
        score -= _balance(requested, capacity, None if only_two else has)
        score += _UNCHANGED
        score //= 2
        return score


def _balance(
    requested: NDArray[np.int64], capacity: NDArray[np.float64], has: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """Return how even the utilisation of k resources is, 0 to 100; (n,) int64, new.

    `requested`, `capacity` (k, n); `has` (k, n) says which resources a node has, None: it has two,
    and both of them. In place and without arrays beyond 128 KiB at 5,000 nodes, which malloc would
    give back to the system and fault in again, for each pod.
    """
    fractions = requested.astype(np.float64)
    fractions /= capacity
    np.minimum(fractions, 1.0, out=fractions)
    if has is None:
        deviation = fractions[0]
        deviation -= fractions[1]
        np.abs(deviation, out=deviation)
        deviation /= 2
    else:
        deviation = _deviation(fractions, has)
    np.subtract(1, deviation, out=deviation)
    deviation *= 100
    whole: NDArray[np.int64] = deviation.astype(np.int64)
    return whole


def _score_of_one(
    asked: Asked, requested: NDArray[np.int64], allocatable: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Score one row of two resources in plain numbers, by the same operations; (1,) int64.

    `requested`, `allocatable` (2, 1), and the node has both.
    Between two pods one row changes, and arrays of one cost three times as much.
    """
    (own0,), (own1,) = asked.own.tolist()
    (used0,), (used1,) = requested.tolist()
    (all0,), (all1,) = allocatable.tolist()

    def balance(used0: int, used1: int) -> int:
        fraction0 = min(float(used0) / float(all0), 1.0)
        fraction1 = min(float(used1) / float(all1), 1.0)
        return int((1 - abs(fraction0 - fraction1) / 2) * 100)

    change = balance(used0 + own0, used1 + own1) - balance(used0, used1)
    return np.array([(change + _UNCHANGED) // 2], dtype=np.int64)


def _deviation(fractions: NDArray[np.float64], has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the standard deviation of the fractions that a node has.

    `fractions` (k, n) and `has` (k, n); returns (n,) float64, new.
    """
    counts = np.maximum(has.sum(axis=0), 1)
    # Of two, half their distance: the same in principle, and as kube-scheduler has it to the bit.
    highest = np.where(has, fractions, 0.0).max(axis=0)
    lowest = np.where(has, fractions, 1.0).min(axis=0)
    fractions = np.where(has, fractions, 0.0)
    total = np.zeros(has.shape[1])
    for fraction in fractions:  # in order, as floating-point sums depend on it
        total += fraction
    distances = np.where(has, fractions - total / counts, 0.0)
    squares = np.zeros(has.shape[1])
    for distance in distances:
        squares += distance * distance
    deviation: NDArray[np.float64] = np.where(
        counts == _TWO,
        (highest - lowest) / 2,
        np.sqrt(squares / counts),
    )
    return deviation
