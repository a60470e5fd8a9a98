"""What the resource plugins have in common: arguments, and requested and allocatable as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import moorage

__all__ = ["DEFAULT_RESOURCES", "ResourceSpec", "is_extended", "requested_and_allocatable"]

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


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


def requested_and_allocatable(
    info: moorage.PodInfo,
    nodes: moorage.NodesView,
    resources: Sequence[ResourceSpec],
    *,
    with_defaults: bool,
) -> list[tuple[ResourceSpec, NDArray[np.int64], NDArray[np.int64], int]]:
    """List, for each resource that counts, what pods request and nodes have.

    Each entry: the resource, requested by the pods that are there (n,), allocatable (n,), and the
    new pod's own request. Scalar resources that the pod does not request do not count. With
    `with_defaults`, cpu and memory are reckoned with defaults for containers without requests.
    """
    own = dict(info.requests.scoring if with_defaults else info.requests.amounts)
    nonzero = nodes.nonzero_requested if with_defaults else None
    found = []
    for spec in resources:
        amount = own.get(spec.name, 0)
        if not amount and spec.name not in _NATIVE:
            continue
        if nonzero is not None and spec.name == "cpu":
            requested = nonzero[0]
        elif nonzero is not None and spec.name == "memory":
            requested = nonzero[1]
        else:
            requested = nodes.requested(spec.name)
        found.append((spec, requested, nodes.allocatable(spec.name), amount))
    return found
