"""Pods and the rows of a view that they are on, or are to be on, as parallel arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import NodeColumns
from moorage.model.pod_info import PodInfo
from moorage.model.requests import Requests

__all__ = ["NOT_STARTED", "PodsOnRows", "RequestTable", "has_terms", "start_of"]

NOT_STARTED: int = np.iinfo(np.int64).max
"""The start of a pod that its kubelet has not started: later than all others."""


def start_of(info: PodInfo) -> int:
    """Return when a pod started, in microseconds since 1970, or `NOT_STARTED`."""
    started: datetime | None = info.pod.status.start_time
    return NOT_STARTED if started is None else round(started.timestamp() * 1_000_000)


def has_terms(info: PodInfo) -> bool:
    """Say whether a pod may have inter-pod affinity terms; those of its nodes do not count."""
    affinity = info.pod.spec.affinity
    return affinity is not None and (
        affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None
    )


class RequestTable(NamedTuple):
    """d distinct requests as columns: `real` (R, d), each pod itself included, `nonzero` (2, d).

    int64, rows and units as the columns of nodes.
    """

    real: NDArray[np.int64]
    nonzero: NDArray[np.int64]

    @classmethod
    def of(cls, columns: NodeColumns, requests: Sequence[Requests]) -> Self:
        """Look up requests; O(d) in Python."""
        vectors = [columns.vector(one) for one in requests]  # these may bring resources
        real = np.zeros((len(requests), len(columns.resources)), dtype=np.int64)
        for row, (resources, numbers) in zip(real, vectors, strict=True):
            row[resources] = numbers
        nonzero = [(one.nonzero_cpu, one.nonzero_memory) for one in requests]
        return cls(real.T, np.array(nonzero, dtype=np.int64).reshape(-1, 2).T)


class PodsOnRows(Sequence[PodInfo]):
    """m pods, each with its position in a view: a sequence of pods, and parallel arrays.

    `positions` (m,) intp; `infos` (m,) of PodInfo; `priorities` (m,) int64; `starts` (m,) int64 in
    microseconds, see `start_of`; `kinds` (m,) int: pods of one kind have the same namespace and
    labels; `has_terms` (m,) bool: which may have inter-pod affinity terms; `requests` (m,) int are
    columns of `table`. The arrays are not to be written to.
    """

    __slots__ = (
        "has_terms",
        "infos",
        "kinds",
        "positions",
        "priorities",
        "requests",
        "starts",
        "table",
    )

    def __init__(
        self,
        positions: NDArray[np.intp],
        infos: NDArray[np.object_],
        *,
        priorities: NDArray[np.int64],
        starts: NDArray[np.int64],
        kinds: NDArray[np.integer],
        has_terms: NDArray[np.bool_],
        requests: NDArray[np.intp],
        table: RequestTable,
    ) -> None:
        self.positions = positions
        self.infos = infos
        self.priorities = priorities
        self.starts = starts
        self.kinds = kinds
        self.has_terms = has_terms
        self.requests = requests
        self.table = table

    @classmethod
    def of(cls, columns: NodeColumns, pairs: Sequence[tuple[int, PodInfo]]) -> PodsOnRows:
        """Look up some pods, wherever they are, by (position, pod); each is a kind of its own."""
        found = [info for _, info in pairs]
        infos = np.empty(len(found), dtype=object)
        infos[:] = found
        place: dict[Requests, int] = {}
        requests = [place.setdefault(info.requests, len(place)) for info in found]
        return cls(
            np.array([position for position, _ in pairs], dtype=np.intp),
            infos,
            priorities=np.array([info.priority for info in found], dtype=np.int64),
            starts=np.array([start_of(info) for info in found], dtype=np.int64),
            kinds=np.arange(len(found)),
            has_terms=np.array([has_terms(info) for info in found], dtype=np.bool_),
            requests=np.array(requests, dtype=np.intp),
            table=RequestTable.of(columns, list(place)),
        )

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[PodInfo]:
        return iter(self.infos.tolist())

    @overload
    def __getitem__(self, index: int) -> PodInfo: ...
    @overload
    def __getitem__(self, index: slice) -> PodsOnRows: ...
    def __getitem__(self, index: int | slice) -> PodInfo | PodsOnRows:
        if isinstance(index, slice):
            return self.take(index)
        info: PodInfo = self.infos[index]
        return info

    def take(self, indices: NDArray[np.intp] | NDArray[np.bool_] | slice) -> PodsOnRows:
        """Return some of the pods by index, slice or mask; those of a slice share these arrays."""
        return self._with_positions(self.positions[indices], indices)

    def at(self, places: NDArray[np.intp]) -> PodsOnRows:
        """Return the pods whose position has a place in another view (k,), -1: it has none."""
        positions = places[self.positions]
        chosen = np.flatnonzero(positions >= 0)
        return self._with_positions(positions[chosen], chosen)

    def _with_positions(
        self,
        positions: NDArray[np.intp],
        indices: NDArray[np.intp] | NDArray[np.bool_] | slice,
    ) -> PodsOnRows:
        return PodsOnRows(
            positions,
            self.infos[indices],
            priorities=self.priorities[indices],
            starts=self.starts[indices],
            kinds=self.kinds[indices],
            has_terms=self.has_terms[indices],
            requests=self.requests[indices],
            table=self.table,
        )
