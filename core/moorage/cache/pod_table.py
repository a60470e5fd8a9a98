"""All pods on rows as a table: by priority, and how many each selector finds on each row."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.columns import NodeColumns
from moorage.cache.pod_columns import PodColumns
from moorage.cache.pod_kinds import PodKinds
from moorage.cache.pods_on_rows import PodsOnRows
from moorage.cache.selector_index import SelectorIndex
from moorage.model.pod_info import PodInfo
from moorage.model.pods import is_terminating
from moorage.model.selectors import Selector

__all__ = ["PodFilter", "PodTable"]

_FIRST_CAPACITY = 64
_FEWEST_COLUMNS = 64
_BUDGET = 32 * 1024 * 1024
"""Bytes of kept counts: 512 of them at 5,000 nodes."""
_NO_KIND = -1


class PodFilter(NamedTuple):
    """Which pods are counted: in these namespaces (None: all), by selector, terminating or not."""

    namespaces: frozenset[str] | None
    selector: Selector
    terminating: bool = True

    def accepts(self, info: PodInfo) -> bool:
        """Say whether a pod is counted."""
        metadata = info.pod.metadata
        return (
            (self.terminating or not is_terminating(info.pod))
            and (self.namespaces is None or metadata.namespace in self.namespaces)
            and self.selector.matches(metadata.labels)
        )


class _Hits(NamedTuple):
    """The counts that a kind of pods is part of, as found at a `version` of them all.

    `always` also counts pods that are terminating, `living` only the others.
    """

    version: int
    always: list[NDArray[np.int64]]
    living: list[NDArray[np.int64]]


class PodTable:
    """One entry a pod: its kind, its row, whether it is terminating; on top, counts by selector.

    What matters to those who look for pods in the way of others is in `PodColumns`.

    A count is made when first asked for, over all kinds and then all pods at once (about 50 µs for
    10,000 pods), and kept up to date from then on: a pod that comes or goes touches only the counts
    that it is part of, found once for its kind through an index of selectors. The counts used
    longest ago are dropped beyond 32 MiB (but never below 64 of them).
    """

    def __init__(self, row_capacity: int) -> None:
        self.kinds = PodKinds()
        self._rows = row_capacity
        self._slot_of: dict[str, int] = {}
        self._free: list[int] = []
        self._kind = np.full(_FIRST_CAPACITY, _NO_KIND, dtype=np.int32)
        self._row = np.zeros(_FIRST_CAPACITY, dtype=np.int32)
        self._terminating = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._pods = PodColumns(_FIRST_CAPACITY)
        self._columns: OrderedDict[PodFilter, NDArray[np.int64]] = OrderedDict()
        self._index: SelectorIndex[PodFilter] = SelectorIndex()
        self._version = 0
        self._hits: dict[int, _Hits] = {}

    # Pods

    def add(self, info: PodInfo, row: int) -> None:
        """Enter a pod that came to a row."""
        slot = self._free.pop() if self._free else len(self._slot_of)
        if slot >= len(self._kind):
            self._grow_slots()
        self._slot_of[info.uid] = slot
        self._row[slot] = row
        self._pods.arrive(slot, info)
        self._set(slot, info)

    def remove(self, uid: str) -> None:
        """Take out a pod that left its row."""
        slot = self._slot_of.pop(uid)
        self._unset(slot)
        self._pods.clear(slot)
        self._free.append(slot)

    def replace(self, before: PodInfo, after: PodInfo) -> None:
        """Enter the newer version of a pod that stays where it is."""
        old, new = before.pod, after.pod
        slot = self._slot_of[after.uid]
        self._pods.set(slot, after)
        if (
            old.metadata.labels != new.metadata.labels
            or old.metadata.namespace != new.metadata.namespace
            or is_terminating(old) != is_terminating(new)
        ):
            self._unset(slot)
            self._set(slot, after)

    def grow(self, row_capacity: int) -> None:
        """Make room for more rows."""
        self._rows = row_capacity
        self._version += 1
        for wanted, counts in self._columns.items():
            grown = self._columns[wanted] = np.zeros(row_capacity, dtype=np.int64)
            grown[: len(counts)] = counts

    def below(self, priority: int, rows: NDArray[np.intp], nodes: NodeColumns) -> PodsOnRows:
        """Return the pods of lower priority on rows (k,), which are distinct; O(all pods) in arrays.

        By row in the order of `rows`, and of each row the most important first: higher priority,
        then the earlier start, then the earlier arrival. `nodes` are the columns of the cluster.
        """
        place = np.full(self._rows, -1, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        positions = place[self._row]
        positions[self._kind == _NO_KIND] = -1
        return self._pods.below(priority, positions, self._kind, nodes)

    # Counts

    def counts(self, wanted: PodFilter) -> NDArray[np.int64]:
        """Return how many pods of each row are counted; (row capacity,) int64, kept up to date.

        O(kinds + pods) when first asked for, O(1) afterwards. The caller must not write to it.
        """
        counts = self._columns.get(wanted)
        if counts is None:
            return self._make(wanted)
        self._columns.move_to_end(wanted)
        return counts

    @property
    def kept(self) -> int:
        """How many counts are kept."""
        return len(self._columns)

    @property
    def room(self) -> int:
        """How many counts are kept at most."""
        return max(_FEWEST_COLUMNS, _BUDGET // (8 * self._rows))

    def check_invariants(self, pods: Mapping[int, Iterable[PodInfo]]) -> None:
        """Raise AssertionError where the table or a count differs from the pods on rows."""
        where = {info.uid: (row, info) for row, infos in pods.items() for info in infos}
        assert where.keys() == self._slot_of.keys()
        kinds: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
        for uid, slot in self._slot_of.items():
            row, info = where[uid]
            metadata = info.pod.metadata
            kind = self.kinds.get(int(self._kind[slot]))
            assert self._row[slot] == row, uid
            assert self._terminating[slot] == is_terminating(info.pod), uid
            assert (kind.namespace, kind.labels) == (metadata.namespace, metadata.labels), uid
            self._pods.check(slot, info)
            kinds[metadata.namespace, frozenset(metadata.labels.items())] += 1
        assert all(self._kind[slot] == _NO_KIND for slot in self._free)
        self.kinds.check_invariants(kinds)
        for wanted, counts in self._columns.items():
            expected = np.zeros(self._rows, dtype=np.int64)
            for row, infos in pods.items():
                expected[row] = sum(wanted.accepts(info) for info in infos)
            assert np.array_equal(counts, expected), wanted

    # Inside

    def _set(self, slot: int, info: PodInfo) -> None:
        metadata = info.pod.metadata
        self._kind[slot] = self.kinds.take(metadata.namespace, metadata.labels)
        self._terminating[slot] = is_terminating(info.pod)
        self._count(slot, 1)

    def _unset(self, slot: int) -> None:
        self._count(slot, -1)
        kind = int(self._kind[slot])
        if self.kinds.give_back(kind):
            self._hits.pop(kind, None)
        self._kind[slot] = _NO_KIND

    def _count(self, slot: int, change: int) -> None:
        if not self._columns:
            return
        kind, row = int(self._kind[slot]), self._row[slot]
        hits = self._hits.get(kind)
        if hits is None or hits.version != self._version:
            hits = self._hits[kind] = self._find_hits(kind)
        for counts in hits.always:
            counts[row] += change
        if not self._terminating[slot]:
            for counts in hits.living:
                counts[row] += change

    def _find_hits(self, kind: int) -> _Hits:
        namespace, labels = self.kinds.get(kind)
        hits = _Hits(self._version, [], [])
        for wanted in self._index.candidates(labels, namespace=namespace):
            in_namespace = wanted.namespaces is None or namespace in wanted.namespaces
            if in_namespace and wanted.selector.matches(labels):
                (hits.always if wanted.terminating else hits.living).append(self._columns[wanted])
        return hits

    def _make(self, wanted: PodFilter) -> NDArray[np.int64]:
        while len(self._columns) >= self.room:
            oldest, _ = self._columns.popitem(last=False)
            self._index.remove(oldest, oldest.selector, namespace=_only(oldest.namespaces))
        pods = self.kinds.matching(wanted.namespaces, wanted.selector)[self._kind]
        if not wanted.terminating:
            pods &= ~self._terminating
        counts = np.bincount(self._row[pods], minlength=self._rows)
        self._columns[wanted] = counts
        self._index.add(wanted, wanted.selector, namespace=_only(wanted.namespaces))
        self._version += 1
        return counts

    def _grow_slots(self) -> None:
        size = len(self._kind)
        self._kind = np.concatenate([self._kind, np.full(size, _NO_KIND, dtype=np.int32)])
        self._row = np.concatenate([self._row, np.zeros(size, dtype=np.int32)])
        self._terminating = np.concatenate([self._terminating, np.zeros(size, dtype=np.bool_)])
        self._pods.grow(2 * size)


def _only(namespaces: frozenset[str] | None) -> str | None:
    """Return the namespace where there is just one."""
    if namespaces is None or len(namespaces) != 1:
        return None
    (namespace,) = namespaces
    return namespace
