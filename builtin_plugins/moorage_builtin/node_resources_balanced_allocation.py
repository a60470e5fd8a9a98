"""NodeResourcesBalancedAllocation: prefers nodes whose resources a pod brings closer together."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import moorage
from moorage_builtin.resources import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    requested_and_allocatable,
)

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesBalancedAllocationArgs"]

_UNCHANGED = 150


class NodeResourcesBalancedAllocationArgs(moorage.PluginArgs):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceSpec, ...] = Field(
        default=DEFAULT_RESOURCES, description="The resources to balance; weights are not used."
    )

    @field_validator("resources")
    @classmethod
    def _unit_weights(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        for spec in resources:
            if spec.weight != 1:
                raise ValueError(f"resource weight of {spec.name} must be 1, got {spec.weight}")
        return resources or DEFAULT_RESOURCES


class NodeResourcesBalancedAllocation(moorage.Plugin):
    """Scores by how the spread of a node's utilisations changes with the pod."""

    Args = NodeResourcesBalancedAllocationArgs
    score_depends = moorage.Depends(node=True, pods=True)

    @moorage.hookimpl
    def sign(self, info: moorage.PodInfo) -> Hashable:
        """Only the requests matter."""
        return info.requests

    @moorage.hookimpl
    def pre_score(self, info: moorage.PodInfo) -> moorage.Verdict | None:
        """Skip pods that request none of the resources: they would all go to one node."""
        own = dict(info.requests.amounts)
        if not any(own.get(spec.name) for spec in self.args.resources):
            return moorage.SKIP
        return None

    @moorage.hookimpl
    def score_nodes(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Score 50 to 100, 75 where the pod changes nothing; (n,) int64.

        Balance is 100 x (1 - standard deviation of the utilisations), rounded down; the score is
        75 plus half of what the pod adds to it.
        """
        with_pod = []
        without = []
        present = []
        for _, requested, allocatable, own in requested_and_allocatable(
            info, nodes, self.args.resources, with_defaults=False
        ):
            has = allocatable > 0
            capacity = np.maximum(allocatable, 1)
            with_pod.append(np.minimum((requested + own) / capacity, 1.0))
            without.append(np.minimum(requested / capacity, 1.0))
            present.append(has)
        # Whole points first, then the change, then halved: so that 75 is "no change".
        after = ((1 - _deviation(with_pod, present)) * 100).astype(np.int64)
        before = ((1 - _deviation(without, present)) * 100).astype(np.int64)
        return (_UNCHANGED + after - before) // 2


def _deviation(
    fractions: list[NDArray[np.float64]], present: list[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """Return the standard deviation of the fractions that a node has; (n,) float64."""
    if len(fractions) == 2 and all(has.all() for has in present):  # noqa: PLR2004 - two is simpler
        return np.abs((fractions[0] - fractions[1]) / 2)
    counts = np.sum(present, axis=0)
    total = np.zeros(len(counts))
    for fraction, has in zip(fractions, present, strict=True):
        total += np.where(has, fraction, 0.0)
    mean = total / np.maximum(counts, 1)
    squares = np.zeros(len(counts))
    for fraction, has in zip(fractions, present, strict=True):
        squares += np.where(has, (fraction - mean) * (fraction - mean), 0.0)
    deviation = np.sqrt(squares / np.maximum(counts, 1))
    return np.where(counts > 1, deviation, 0.0)
