"""What decides which pods are in the way of others, one entry a pod."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import NodeColumns
from moorage.cache.interning import InternedColumn
from moorage.cache.pods_on_rows import (
    NOT_STARTED,
    PodsOnRows,
    RequestTable,
    start_of,
)
from moorage.model.pod_info import PodInfo
from moorage.model.requests import Requests

__all__ = ["PodColumns"]


class _Chosen(NamedTuple):
    """Slots of pods, and the positions in a view that they are on."""

    slots: NDArray[np.intp]
    positions: NDArray[np.intp]


class PodColumns:
    """The pods themselves, their priorities, starts and requests, by slot of the `PodTable`.

    Setting is O(1). The arrays are as long as the table's.
    """

    def __init__(self, capacity: int) -> None:
        self._infos: NDArray[np.object_] = np.empty(capacity, dtype=object)
        self._priorities = np.zeros(capacity, dtype=np.int64)
        self._starts = np.full(capacity, NOT_STARTED, dtype=np.int64)
        self._arrivals = np.zeros(capacity, dtype=np.int64)
        self._has_affinity = np.zeros(capacity, dtype=np.bool_)
        self._requests: InternedColumn[Requests] = InternedColumn(capacity)
        self._arrived = 0

    def arrive(self, slot: int, info: PodInfo) -> None:
        """Enter a pod that came to a row."""
        self._arrived += 1
        self._arrivals[slot] = self._arrived
        self.set(slot, info)

    def set(self, slot: int, info: PodInfo) -> None:
        """Enter the newest version of a pod."""
        self._infos[slot] = info
        self._priorities[slot] = info.pod.spec.priority or 0
        self._starts[slot] = start_of(info)
        self._has_affinity[slot] = info.pod.spec.affinity is not None
        self._requests.set(slot, info.requests)

    def clear(self, slot: int) -> None:
        """Forget a pod."""
        self._infos[slot] = None
        self._requests.set(slot, None)

    def grow(self, capacity: int) -> None:
        """Make room for more pods."""
        more = capacity - len(self._infos)
        self._infos = np.concatenate([self._infos, np.empty(more, dtype=object)])
        self._priorities = np.concatenate([self._priorities, np.zeros(more, dtype=np.int64)])
        starts = np.full(more, NOT_STARTED, dtype=np.int64)
        self._starts = np.concatenate([self._starts, starts])
        self._arrivals = np.concatenate([self._arrivals, np.zeros(more, dtype=np.int64)])
        self._has_affinity = np.concatenate([self._has_affinity, np.zeros(more, dtype=np.bool_)])
        self._requests.grow(capacity)

    def below(
        self,
        priority: int,
        positions: NDArray[np.intp],
        kinds: NDArray[np.int32],
        nodes: NodeColumns,
    ) -> PodsOnRows:
        """Return the pods of lower priority, each row's most important first.

        `positions` (slots,) says where each pod is in the view, -1: nowhere. More important is the
        higher priority, then the earlier start, then who came to the row first.
        """
        slots = np.flatnonzero((positions >= 0) & (self._priorities < priority))
        chosen = self._in_order(_Chosen(slots, positions[slots]))
        slots = chosen.slots
        distinct, requests = _distinct(self._requests.codes[slots], len(self._requests.values))
        values = [self._requests.values[code] for code in distinct.tolist()]
        return PodsOnRows(
            chosen.positions,
            self._infos[slots],
            priorities=self._priorities[slots],
            starts=self._starts[slots],
            kinds=kinds[slots],
            has_affinity=self._has_affinity[slots],
            requests=requests,
            table=RequestTable.of(nodes, values),
        )

    def check(self, slot: int, info: PodInfo) -> None:
        """Raise AssertionError where what is kept of a pod is not what it says."""
        assert self._infos[slot] is info, info
        assert self._priorities[slot] == info.priority, info
        assert self._starts[slot] == start_of(info), info
        assert self._has_affinity[slot] == (info.pod.spec.affinity is not None), info
        assert self._requests.get(slot) == info.requests, info

    def _in_order(self, chosen: _Chosen) -> _Chosen:
        slots, positions = chosen
        # Row and priority in one key: sorting is most of what this costs.
        keys = (positions << 32) - self._priorities[slots]
        order = np.lexsort((self._arrivals[slots], self._starts[slots], keys))
        return _Chosen(slots[order], positions[order])


def _distinct(codes: NDArray[np.int32], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct ones of codes below `count`, and the place of each code among them."""
    place = np.zeros(count, dtype=np.intp)
    place[codes] = 1
    distinct = np.flatnonzero(place)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[codes]
