"""Pods and the rows of a view that they are on, or are to be on, as parallel arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import NodeColumns
from moorage.model.pod_info import PodInfo
from moorage.model.requests import Requests

__all__ = ["NOT_STARTED", "PodsOnRows", "RequestTable", "start_of"]

NOT_STARTED: int = np.iinfo(np.int64).max
"""The start of a pod that its kubelet has not started: later than all others."""


def start_of(info: PodInfo) -> int:
    """Return when a pod started, in microseconds since 1970, or `NOT_STARTED`."""
    started: datetime | None = info.pod.status.start_time
    return NOT_STARTED if started is None else round(started.timestamp() * 1_000_000)


class RequestTable(NamedTuple):
    """d distinct requests; `real` (R, d) int64 are their columns, each pod itself included.

    Rows and units are those of the columns of nodes.
    """

    requests: Sequence[Requests]
    real: NDArray[np.int64]

    @classmethod
    def of(cls, columns: NodeColumns, requests: Sequence[Requests]) -> Self:
        """Look up requests; O(d) in Python."""
        return cls(requests, columns.dense(requests))

    @property
    def nonzero(self) -> NDArray[np.int64]:
        """The requests with defaults; (2, d) int64, new."""
        pairs = [(one.nonzero_cpu, one.nonzero_memory) for one in self.requests]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


class PodsOnRows(Sequence[PodInfo]):
    """m pods, each with its position in a view: a sequence of pods, and parallel arrays.

    `positions` (m,) intp; `infos` (m,) of PodInfo; `kinds` (m,) int: pods of one kind have the same
    namespace and labels; `requests` (m,) int are columns of `table`. What is given as None is looked
    up when first asked for. The arrays are not to be written to.
    """

    __slots__ = (
        "_has_affinity",
        "_priorities",
        "_starts",
        "infos",
        "kinds",
        "positions",
        "requests",
        "table",
    )

    def __init__(
        self,
        positions: NDArray[np.intp],
        infos: NDArray[np.object_],
        *,
        priorities: NDArray[np.int64] | None,
        starts: NDArray[np.int64] | None,
        kinds: NDArray[np.integer[Any]],
        has_affinity: NDArray[np.bool_] | None,
        requests: NDArray[np.intp],
        table: RequestTable,
    ) -> None:
        self.positions = positions
        self.infos = infos
        self._priorities = priorities
        self._starts = starts
        self.kinds = kinds
        self._has_affinity = has_affinity
        self.requests = requests
        self.table = table

    @classmethod
    def of(cls, columns: NodeColumns, pairs: Sequence[tuple[int, PodInfo]]) -> PodsOnRows:
        """Look up some pods, wherever they are, by (position, pod); each is a kind of its own."""
        infos = np.empty(len(pairs), dtype=object)
        infos[:] = [info for _, info in pairs]
        # Requests are shared objects: by identity, which is cheaper than by value.
        distinct: dict[int, Requests] = {}
        place: dict[int, int] = {}
        requests = []
        for _, info in pairs:
            identity = id(info.requests)
            if identity not in place:
                place[identity] = len(place)
                distinct[identity] = info.requests
            requests.append(place[identity])
        return cls(
            np.array([position for position, _ in pairs], dtype=np.intp),
            infos,
            priorities=None,
            starts=None,
            kinds=np.arange(len(pairs)),
            has_affinity=None,
            requests=np.array(requests, dtype=np.intp),
            table=RequestTable.of(columns, list(distinct.values())),
        )

    @property
    def priorities(self) -> NDArray[np.int64]:
        """The pods' priorities; (m,) int64."""
        if self._priorities is None:
            self._priorities = np.array([info.priority for info in self], dtype=np.int64)
        return self._priorities

    @property
    def starts(self) -> NDArray[np.int64]:
        """When the pods started, see `start_of`; (m,) int64 microseconds."""
        if self._starts is None:
            self._starts = np.array([start_of(info) for info in self], dtype=np.int64)
        return self._starts

    @property
    def has_affinity(self) -> NDArray[np.bool_]:
        """Which pods have an affinity, and so perhaps terms about other pods; (m,) bool."""
        if self._has_affinity is None:
            found = [info.pod.spec.affinity is not None for info in self]
            self._has_affinity = np.array(found, dtype=np.bool_)
        return self._has_affinity

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
            priorities=None if self._priorities is None else self._priorities[indices],
            starts=None if self._starts is None else self._starts[indices],
            kinds=self.kinds[indices],
            has_affinity=None if self._has_affinity is None else self._has_affinity[indices],
            requests=self.requests[indices],
            table=self.table,
        )
