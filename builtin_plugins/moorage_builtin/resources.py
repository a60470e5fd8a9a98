"""What the resource plugins have in common: arguments, and requested and allocatable as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import moorage

__all__ = ["DEFAULT_RESOURCES", "Asked", "ResourceSpec", "is_extended"]

_CPU_AND_MEMORY = ("cpu", "memory")
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
"""What counts without being asked for; ``pods`` never counts, as in kube-scheduler."""


class ResourceSpec(moorage.PluginArgs):
    """A resource and its weight in a score."""

    name: str = Field(description="The resource, such as cpu or example.com/gpu.")
    weight: int = Field(default=1, ge=1, le=100, description="Its weight, 1 to 100.")

    @field_validator("weight", mode="before")
    @classmethod
    def _zero_is_one(cls, weight: object) -> object:
        return weight or 1


DEFAULT_RESOURCES = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


def is_extended(resource: str) -> bool:
    """Say whether a resource is neither one that every node has nor a huge page."""
    return "/" in resource and "kubernetes.io/" not in resource


class Asked(NamedTuple):
    """What a pod asks of the k resources that count in a score; made once for all pods like it.

    `names` (k), `own` (k, 1) int64 the pod's requests in the units of the resources, `weights`
    (k, 1) int64, None where all are 1. With `with_defaults`, cpu and memory are reckoned with
    defaults for containers without requests (see `moorage.model.Requests`).
    """

    names: tuple[str, ...]
    own: NDArray[np.int64]
    weights: NDArray[np.int64] | None
    with_defaults: bool

    @classmethod
    def of(
        cls, info: moorage.PodInfo, resources: Sequence[ResourceSpec], *, with_defaults: bool
    ) -> Self:
        """Reckon; scalar resources that the pod does not request do not count."""
        own = dict(info.requests.scoring if with_defaults else info.requests.amounts)
        names: list[str] = []
        amounts: list[int] = []
        weights: list[int] = []
        for spec in resources:
            amount = own.get(spec.name, 0)
            if amount or spec.name in _NATIVE:
                names.append(spec.name)
                amounts.append(amount)
                weights.append(spec.weight)
        return cls(
            tuple(names),
            _column(amounts),
            None if weights.count(1) == len(weights) else _column(weights),
            with_defaults,
        )

    def requested(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Return what the pods that are there request; (k, n) int64."""
        if not self.with_defaults:
            return nodes.requested_of(self.names)
        if self.names == _CPU_AND_MEMORY:
            return nodes.nonzero_requested
        requested = nodes.requested_of(self.names).copy()
        for place, name in enumerate(self.names):
            if name in _CPU_AND_MEMORY:
                requested[place] = nodes.nonzero_requested[_CPU_AND_MEMORY.index(name)]
        return requested


def _column(amounts: list[int]) -> NDArray[np.int64]:
    return np.array(amounts, dtype=np.int64)[:, np.newaxis]
