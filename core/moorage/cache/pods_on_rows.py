"""Pods and the rows of a view that they are on, or are to be on, as parallel arrays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import NodeColumns
from moorage.model.pod_info import PodInfo
from moorage.model.requests import Requests

__all__ = ["NOT_STARTED", "PodsOnRows", "start_of"]

NOT_STARTED: int = np.iinfo(np.int64).max
"""The start of a pod that its kubelet has not started: later than all others."""


def start_of(info: PodInfo) -> int:
    """Return when a pod started, in microseconds since 1970, or `NOT_STARTED`."""
    started: datetime | None = info.pod.status.start_time
    return NOT_STARTED if started is None else round(started.timestamp() * 1_000_000)


class PodsOnRows:
    """m pods, each with its position in a view; arrays are the caller's own.

    `positions` (m,) intp; `infos` (m,) of PodInfo; `priorities` (m,) int64; `starts` (m,) int64 in
    microseconds, see `start_of`; `kinds` (m,) int64: pods of one kind have the same namespace and
    labels; `requests` (R, m) and `nonzero` (2, m) int64, rows and units as the columns of nodes.
    """

    __slots__ = ("infos", "kinds", "nonzero", "positions", "priorities", "requests", "starts")

    def __init__(
        self,
        positions: NDArray[np.intp],
        infos: NDArray[np.object_],
        *,
        priorities: NDArray[np.int64],
        starts: NDArray[np.int64],
        kinds: NDArray[np.int64],
        requests: NDArray[np.int64],
        nonzero: NDArray[np.int64],
    ) -> None:
        self.positions = positions
        self.infos = infos
        self.priorities = priorities
        self.starts = starts
        self.kinds = kinds
        self.requests = requests
        self.nonzero = nonzero

    @classmethod
    def of(cls, columns: NodeColumns, pairs: Sequence[tuple[int, PodInfo]]) -> PodsOnRows:
        """Look up some pods, wherever they are, by (position, pod); each is a kind of its own."""
        found = [info for _, info in pairs]
        infos = np.empty(len(found), dtype=object)
        infos[:] = found
        requests, nonzero = amounts(columns, [info.requests for info in found])
        return cls(
            np.array([position for position, _ in pairs], dtype=np.intp),
            infos,
            priorities=np.array([info.priority for info in found], dtype=np.int64),
            starts=np.array([start_of(info) for info in found], dtype=np.int64),
            kinds=np.arange(len(found)),
            requests=requests,
            nonzero=nonzero,
        )

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, indices: NDArray[np.intp]) -> PodsOnRows:
        """Return some of the pods, (k,) by index."""
        return PodsOnRows(
            self.positions[indices],
            self.infos[indices],
            priorities=self.priorities[indices],
            starts=self.starts[indices],
            kinds=self.kinds[indices],
            requests=self.requests[:, indices],
            nonzero=self.nonzero[:, indices],
        )

    def pods(self) -> list[PodInfo]:
        """Return the pods as a list."""
        found: list[PodInfo] = self.infos.tolist()
        return found


def amounts(
    columns: NodeColumns, requests: Sequence[Requests]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Turn k requests into columns: (R, k) int64, each pod itself included, and (2, k) non-zero.

    O(k) in Python: to be asked about distinct requests.
    """
    vectors = [columns.vector(one) for one in requests]  # these may bring resources
    matrix = np.zeros((len(columns.resources), len(requests)), dtype=np.int64)
    for index, (resources, numbers) in enumerate(vectors):
        matrix[resources, index] = numbers
    nonzero = np.array(
        [[one.nonzero_cpu for one in requests], [one.nonzero_memory for one in requests]],
        dtype=np.int64,
    )
    return matrix, nonzero
