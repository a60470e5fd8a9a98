"""The numbers of nodes: declared columns, one entry a row, grown together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.model.requests import Requests

__all__ = ["CPU", "EPHEMERAL_STORAGE", "FIRST_RESOURCES", "MEMORY", "PODS", "NodeColumns"]

FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
"""The resources that every cluster has, in the order of their rows in the matrices."""
CPU, MEMORY, EPHEMERAL_STORAGE, PODS = range(4)


class _Column(NamedTuple):
    """A declaration: name, leading dimension (`R` resources, 2, or none), dtype, unit."""

    name: str
    leading: str
    dtype: type[Any]
    unit: str


_DECLARED = (
    _Column("allocatable", "R", np.int64, "milli-CPU, bytes, pods or devices"),
    _Column("requested", "R", np.int64, "as allocatable; real requests of the pods there"),
    _Column("nonzero_requested", "2", np.int64, "milli-CPU and bytes; containers with defaults"),
    _Column("unschedulable", "", np.bool_, "spec.unschedulable"),
    _Column("valid", "", np.bool_, "the row is a node; pods may be known before their node"),
)
_ROOM_FOR_RESOURCES = 8


class NodeColumns:
    """A struct of arrays; attributes are the columns declared above.

    Matrices have resources as rows, (R, capacity), so that one resource of all nodes is
    contiguous. A resource gets its row when first seen and keeps it.
    """

    allocatable: NDArray[np.int64]
    requested: NDArray[np.int64]
    nonzero_requested: NDArray[np.int64]
    unschedulable: NDArray[np.bool_]
    valid: NDArray[np.bool_]

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.resources: dict[str, int] = {name: index for index, name in enumerate(FIRST_RESOURCES)}
        self._room = _ROOM_FOR_RESOURCES
        self._places: dict[tuple[str, ...], tuple[slice | None, NDArray[np.intp]]] = {}
        self._vectors: dict[Requests, tuple[NDArray[np.intp], NDArray[np.int64]]] = {}
        self._dense: dict[int, tuple[Requests, tuple[int, ...]]] = {}
        for column in _DECLARED:
            setattr(self, column.name, np.zeros(self._shape(column), dtype=column.dtype))

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows, all zero."""
        self.capacity = capacity
        for column in _DECLARED:
            old: NDArray[Any] = getattr(self, column.name)
            new = np.zeros(self._shape(column), dtype=column.dtype)
            new[tuple(slice(size) for size in old.shape)] = old
            setattr(self, column.name, new)

    def resource(self, name: str) -> int:
        """Return the row of a resource in the matrices, made now if it is new."""
        index = self.resources.get(name)
        if index is None:
            index = self.resources[name] = len(self.resources)
            if index >= self._room:
                self._room *= 2
                self.grow(self.capacity)
        return index

    def places(self, names: tuple[str, ...]) -> tuple[slice | None, NDArray[np.intp]]:
        """Return the rows of several resources: as a slice where they are adjacent, and as (k, 1)."""
        found = self._places.get(names)
        if found is None:
            rows = [self.resource(name) for name in names]
            first = rows[0] if rows else 0
            adjacent = rows == list(range(first, first + len(rows)))
            found = (
                slice(first, first + len(rows)) if adjacent else None,
                np.array(rows, dtype=np.intp)[:, np.newaxis],
            )
            self._places[names] = found
        return found

    def vector(self, requests: Requests) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return requests, and the pod itself, as (resource rows (k,), amounts (k,))."""
        found = self._vectors.get(requests)
        if found is None:
            pairs = [(self.resource(name), amount) for name, amount in requests.amounts if amount]
            pairs.append((PODS, 1))
            found = (
                np.array([index for index, _ in pairs], dtype=np.intp),
                np.array([amount for _, amount in pairs], dtype=np.int64),
            )
            if len(self._vectors) > 65536:  # noqa: PLR2004 - as many as requests are interned
                self._vectors.clear()
            self._vectors[requests] = found
        return found

    def dense(self, requests: Sequence[Requests]) -> NDArray[np.int64]:
        """Return k requests, each with the pod itself, as columns; (R, k) int64, new.

        Requests are shared objects and known by identity here, which is cheaper than by value.
        """
        known, width = self._dense, len(self.resources)
        rows = []
        for one in requests:
            found = known.get(id(one))
            if found is None or len(found[1]) < width:
                found = self._remember(one)
                width = len(self.resources)
            rows.append(found[1])
        if rows and len(rows[0]) < width:  # a later one brought resources
            return self.dense(requests)
        return np.array(rows, dtype=np.int64).reshape(len(rows), width).T

    def _remember(self, requests: Requests) -> tuple[Requests, tuple[int, ...]]:
        resources, amounts = self.vector(requests)  # this may bring resources
        row = np.zeros(len(self.resources), dtype=np.int64)
        row[resources] = amounts
        if len(self._dense) > 65536:  # noqa: PLR2004 - as above
            self._dense.clear()
        # With the object itself: as long as it is kept, no other one has its identity.
        found = self._dense[id(requests)] = (requests, tuple(row.tolist()))
        return found

    def _shape(self, column: _Column) -> tuple[int, ...]:
        leading = {"R": (self._room,), "2": (2,), "": ()}[column.leading]
        return (*leading, self.capacity)

    def check_row(
        self, row: int, allocatable: Mapping[str, int], requests: Sequence[Requests]
    ) -> None:
        """Raise AssertionError where a row is not what a node has and its pods request."""
        requested = {PODS: len(requests)}
        for one in requests:
            for resource, amount in one.amounts:
                index = self.resource(resource)
                requested[index] = requested.get(index, 0) + amount
        for index in range(len(self.resources)):
            assert self.requested[index, row] == requested.get(index, 0), row
        assert self.nonzero_requested[CPU, row] == sum(one.nonzero_cpu for one in requests)
        assert self.nonzero_requested[MEMORY, row] == sum(one.nonzero_memory for one in requests)
        for resource, amount in allocatable.items():
            assert self.allocatable[self.resource(resource), row] == amount, row
