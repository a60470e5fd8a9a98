"""Rows of nodes as plugins see them: read-only arrays, with or without changed pods.

A view is a list of rows; a row is a node with its pods, real or hypothetical. The same node may
stand in several rows, each with other pods taken away: that is how a dry run asks about many
candidates at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interning import InternedColumn
from moorage.cache.label_view import LabelColumnView
from moorage.cache.pod_table import PodFilter
from moorage.cache.pods_on_rows import PodsOnRows
from moorage.cache.ports import conflicts
from moorage.cache.row_changes import RowChanges, scatter
from moorage.cache.row_counts import RowCounts
from moorage.cache.sealing import sealed
from moorage.cache.terms import TermCounts
from moorage.model.affinity_terms import TermKind
from moorage.model.nodes import Node, Taint
from moorage.model.pod_info import HostPort, PodInfo
from moorage.model.pods import Pod
from moorage.model.selectors import Selector

if TYPE_CHECKING:
    # A view reads the cache that makes it.
    from moorage.cache.cluster import ClusterCache
    from moorage.cache.images import ImageState

__all__ = ["NodesView"]

S = TypeVar("S", bound=np.generic)


class NodesView:
    """Nodes as rows of read-only arrays; made by the host, valid until the hook returns.

    Positions (0 to n-1) index the arrays of a view; `rows` gives the cache's rows behind them.
    As long as no pods are added or taken off, the arrays of the real cluster are shared, not copied,
    by views of rows that follow each other.
    """

    __slots__ = ("_allocatable", "_changes", "_cluster", "_requested", "_span", "_whole", "rows")

    def __init__(self, cluster: ClusterCache, rows: NDArray[np.intp]) -> None:
        self._cluster = cluster
        self.rows = rows
        self._changes = RowChanges()
        count = len(rows)
        # Rows that follow each other, as all do mostly, and one does always, are slices of the
        # cache's columns, without a copy.
        self._span = _span(rows, known=rows is cluster.valid_rows and count == cluster.row_count)
        self._whole = self._span is not None and count == cluster.row_count
        self._requested: NDArray[np.int64] | None = None
        # Only for rows with changes, which are asked again and again: by resources.
        self._allocatable: dict[tuple[str, ...], NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    # Resources

    @property
    def resources(self) -> Sequence[str]:
        """The names of all resources of any node or pod, the four that all nodes have first."""
        return tuple(self._cluster.columns.resources)

    def allocatable(self, resource: str) -> NDArray[np.int64]:
        """Return what nodes have of a resource; (n,) int64 in milli-CPU, bytes, pods, devices."""
        amounts: NDArray[np.int64] = self.allocatable_of((resource,))[0]
        return amounts

    def requested(self, resource: str) -> NDArray[np.int64]:
        """Return what pods on the rows request of a resource; (n,) int64, unit as `allocatable`."""
        amounts: NDArray[np.int64] = self.requested_of((resource,))[0]
        return amounts

    def allocatable_of(self, resources: Sequence[str]) -> NDArray[np.int64]:
        """Return what nodes have of several resources; (k, n) int64, in the order given."""
        if self._allocatable is None:
            return self._matrix("allocatable", resources)
        key = tuple(resources)
        found = self._allocatable.get(key)
        if found is None:
            found = self._allocatable[key] = self._matrix("allocatable", key)
        return found

    def requested_of(self, resources: Sequence[str]) -> NDArray[np.int64]:
        """Return what pods on the rows request of several resources; (k, n) int64."""
        if self._requested is not None:
            adjacent, places = self._cluster.columns.places(tuple(resources))
            # There may be resources that nobody had when the changes were reckoned.
            self._requested = _with_room(self._requested, places.max(initial=0) + 1)
            if adjacent is not None:
                return sealed(self._requested[adjacent])
            return sealed(self._requested[places[:, 0]])
        return self._matrix("requested", resources)

    @property
    def nonzero_requested(self) -> NDArray[np.int64]:
        """Requests of cpu (milli-CPU) and memory (bytes) with defaults where there are none.

        (2, n) int64; see `moorage.model.requests`.
        """
        nonzero = self._rows_of(self._cluster.columns.nonzero_requested)
        if not self._changes:
            return nonzero
        nonzero = nonzero.copy()
        self._changes.apply_nonzero(nonzero)
        return sealed(nonzero)

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """How many pods are on the rows; (n,) int64."""
        return self.requested("pods")

    # The node objects

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        """Which nodes are cordoned (``spec.unschedulable``); (n,) bool."""
        return self._rows_of(self._cluster.columns.unschedulable)

    def labels(self, key: str) -> LabelColumnView[str]:
        """Return the values of a label, which are also the domains of it as a topology key."""
        cluster = self._cluster
        return self._interned(cluster.labels.column(key, lambda new: cluster.fill_labels(key, new)))

    def map_label(
        self,
        key: str,
        values: Mapping[str, float] | Callable[[str], float],
        *,
        default: float = 0.0,
    ) -> NDArray[np.float64]:
        """Turn the values of a label into numbers; (n,) float64, new.

        `values` maps a label's value to a number; rows without the label, or with a value that
        a mapping lacks, get `default`.
        """
        if callable(values):
            return self.labels(key).map(values, np.float64, default)
        return self.labels(key).map(lambda value: values.get(value, default), np.float64, default)

    @property
    def taints(self) -> LabelColumnView[tuple[Taint, ...]]:
        """The taints of the rows, interned by set."""
        return self._interned(self._cluster.taints)

    @property
    def declared_features(self) -> LabelColumnView[frozenset[str]]:
        """The features that nodes declare (``status.declaredFeatures``), interned by set."""
        return self._interned(self._cluster.features)

    def image(self, name: str) -> tuple[NDArray[np.intp], int, int]:
        """Find an image: (positions (k,) of rows that have it, bytes, nodes that have it)."""
        state = self._cluster.images.get(name)
        if state is None:
            return np.empty(0, dtype=np.intp), 0, 0
        return self._image_positions(state), state.size, len(state.rows)

    @property
    def cluster_size(self) -> int:
        """How many nodes the cluster has, in this view or not."""
        return self._cluster.node_count

    def positions(self, names: Iterable[str]) -> NDArray[np.intp]:
        """Find nodes by name; (k,) intp, those that are in this view."""
        rows = {row for name in names if (row := self._cluster.row(name)) is not None}
        return self._positions_of(np.array(sorted(rows), dtype=np.intp))

    def name(self, position: int) -> str:
        """Return the name of one node."""
        return self._cluster.name(int(self.rows[position]))

    def names(self) -> list[str]:
        """Return the names of all nodes of the view; O(n) in Python, not for the hot path."""
        return [self._cluster.name(row) for row in self.rows.tolist()]

    def node(self, position: int) -> Node:
        """Return one node as a typed record."""
        return self._cluster.node(int(self.rows[position]))

    # The pods

    def pods(self, position: int) -> tuple[Pod, ...]:
        """Return the pods of one row as typed records, hypothetical changes included."""
        return tuple(info.pod for info in self.pod_infos(position))

    def pod_infos(self, position: int) -> tuple[PodInfo, ...]:
        """Return the pods of one row with what is reckoned from them."""
        infos = {info.uid: info for info in self._cluster.pods_on(int(self.rows[position]))}
        for where, info in self._changes.removed:
            if where == position:
                infos.pop(info.uid, None)
        infos.update({info.uid: info for where, info in self._changes.added if where == position})
        return tuple(infos.values())

    def port_conflicts(self, ports: Sequence[HostPort]) -> NDArray[np.bool_]:
        """Say on which rows one of the host ports is taken; (n,) bool, new."""
        taken = np.zeros(len(self), dtype=np.bool_)
        rows = self._cluster.ports.rows_in_conflict(ports)
        if rows:
            taken[np.isin(self.rows, list(rows))] = True
        for position in {
            where for _, pairs in self._changes.signed for where, info in pairs if info.host_ports
        }:
            taken[position] = any(
                conflicts(wanted, used)
                for info in self.pod_infos(position)
                for used in info.host_ports
                for wanted in ports
            )
        return taken

    @property
    def volume_counts(self) -> NDArray[np.int64]:
        """How many claims and disks the pods of the rows name, each use counted; (n,) int64.

        No fewer than are attached to a node for its pods: a claim that two of them use counts twice.
        """
        counts = self._rows_of(self._cluster.volume_users.counts)
        if not self._changes:
            return counts
        counts = counts.copy()
        for change, pairs in self._changes.signed:
            for where, info in pairs:
                counts[where] += change * info.storage_volumes
        return sealed(counts)

    def volume_limits(self, driver: str) -> NDArray[np.int64] | None:
        """Return how many volumes of a CSI driver the nodes can have; (n,) int64.

        The largest int64 where a node says no limit; None: no node says one.
        """
        limits = self._cluster.volume_limits(driver)
        return None if limits is None else self._rows_of(limits)

    @property
    def attachment_counts(self) -> NDArray[np.int64]:
        """How many VolumeAttachments there are to the nodes; (n,) int64."""
        return self._rows_of(self._cluster.volume_attachments())

    def matching_pods(
        self,
        namespaces: frozenset[str] | None,
        selector: Selector,
        *,
        terminating: bool = True,
    ) -> NDArray[np.int64]:
        """Count the pods of each row that are in some namespaces (None: all) and selected.

        (n,) int64, hypothetical changes included; ``terminating=False`` leaves out pods with a
        deletionTimestamp. Kept by the cache for all who ask for the same: a question never asked
        before costs O(pods) in arrays, the others nothing.
        """
        wanted = PodFilter(namespaces, selector, terminating)
        counts = self._rows_of(self._cluster.pod_table.counts(wanted))
        if not self._changes:
            return counts
        counts = counts.copy()
        for change, pairs in self._changes.signed:
            for where, info in pairs:
                if wanted.accepts(info):
                    counts[where] += change
        return sealed(counts)

    def namespaces_matching(self, selector: Selector) -> frozenset[str]:
        """Return the names of the namespaces whose labels are selected; kept by the cache."""
        return self._cluster.namespaces.matching(selector)

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace; None where it is not known."""
        namespace = self._cluster.namespaces.get(name)
        return None if namespace is None else namespace.metadata.labels

    def terms_selecting(self, pod: Pod, kind: TermKind) -> list[TermCounts]:
        """Find the affinity terms of one kind, of pods on the rows, that select a pod.

        Terms of one topology key and weight are counted together; `TermCounts.counts` is (n,)
        int64, hypothetical changes included, and may be 0 on all rows. Costs nothing where no pod
        has such terms.
        """
        cluster = self._cluster
        namespace = cluster.namespaces.get(pod.metadata.namespace)
        found: dict[tuple[str, int], list[RowCounts]] = {}
        for column in cluster.terms.selecting(pod, kind, namespace):
            key = (column.term.topology_key, column.term.weight)
            found.setdefault(key, []).append(column.counts)
        counts = {key: self._spread(columns) for key, columns in found.items()}
        if self._changes:
            labels = self.namespace_labels(pod.metadata.namespace)
            for change, pairs in self._changes.signed:
                for where, info in pairs:
                    for term in info.affinity_terms.of(kind):
                        if term.selects(pod, labels):
                            key = (term.topology_key, term.weight)
                            if key not in counts:
                                counts[key] = np.zeros(len(self), dtype=np.int64)
                            counts[key][where] += change
        return [TermCounts(*key, sealed(numbers)) for key, numbers in counts.items()]

    # Other views

    @property
    def all_nodes(self) -> NodesView:
        """The view of all nodes of the cluster, without hypothetical changes."""
        return self._cluster.view()

    def take(self, positions: NDArray[np.intp]) -> NodesView:
        """Return a view of some of the rows, in the order of `positions` (k,) intp."""
        view = NodesView(self._cluster, self.rows[positions])
        if not self._changes:
            return view
        places: dict[int, list[int]] = {}
        for index, position in enumerate(positions.tolist()):
            places.setdefault(position, []).append(index)
        added, removed = (
            [(place, info) for where, info in pairs for place in places.get(where, ())]
            for pairs in (self._changes.added, self._changes.removed)
        )
        return view.overlay(added=added, removed=removed)

    def overlay(
        self,
        *,
        added: Sequence[tuple[int, PodInfo]] = (),
        removed: Sequence[tuple[int, PodInfo]] = (),
    ) -> NodesView:
        """Return the same rows with pods added, then others removed; nothing real changes.

        What an earlier overlay added can be removed again, and the other way round. O(pods named)
        in Python: `with_pods` and `without_pods` do the same for thousands.
        """
        columns = self._cluster.columns
        view = self.with_pods(PodsOnRows.of(columns, added)) if added else self
        return view.without_pods(PodsOnRows.of(columns, removed)) if removed else view

    def with_pods(self, pods: PodsOnRows) -> NodesView:
        """Return the same rows with pods added at their positions; nothing real changes."""
        return self._changed(1, pods)

    def without_pods(self, pods: PodsOnRows) -> NodesView:
        """Return the same rows with pods taken off that they have; nothing real changes."""
        return self._changed(-1, pods)

    def pods_below(self, priority: int) -> PodsOnRows:
        """Return the real pods of lower priority, by row, and of each row the most important first.

        More important is the higher priority, then the earlier start, then who came there first.
        Of a node that stands in several rows, the last one has them. O(all pods) in arrays.
        """
        return self._cluster.pod_table.below(priority, self.rows, self._cluster.columns)

    # Inside

    def _rows_of(self, column: NDArray[S]) -> NDArray[S]:
        if self._span is not None:
            return sealed(column[..., self._span])
        return sealed(column.take(self.rows, axis=-1))

    def _interned(self, column: InternedColumn[Any]) -> LabelColumnView[Any]:
        return LabelColumnView(column, self._rows_of(column.codes))

    def _matrix(self, column: str, resources: Sequence[str]) -> NDArray[np.int64]:
        columns = self._cluster.columns
        # Places first: a resource that nobody had may move the matrices.
        adjacent, places = columns.places(tuple(resources))
        matrix: NDArray[np.int64] = getattr(columns, column)
        if self._span is None:
            return sealed(matrix[places, self.rows])
        if adjacent is not None:
            return sealed(matrix[adjacent, self._span])
        return sealed(matrix[places[:, 0], self._span])

    def _changed(self, change: int, pods: PodsOnRows) -> NodesView:
        columns = self._cluster.columns
        view = NodesView(self._cluster, self.rows)
        view._changes = self._changes.then(change, pods)
        if self._requested is None:
            requested = columns.requested.take(self.rows, axis=1)
        else:
            requested = self._requested.copy()
        requested = _with_room(requested, len(pods.table.real))
        scatter(requested, pods.positions, pods.table.real[:, pods.requests], change)
        view._requested = requested
        view._allocatable = {} if self._allocatable is None else self._allocatable
        return view

    def _spread(self, columns: Sequence[RowCounts]) -> NDArray[np.int64]:
        """Sum counts over this view's rows; (n,) int64, new."""
        size = self._cluster.row_count
        if len(columns) == 1:
            by_row = np.zeros(size, dtype=np.int64)
            by_row[columns[0].rows] = columns[0].counts
        else:
            rows = np.concatenate([column.rows for column in columns])
            numbers = np.concatenate([column.counts for column in columns])
            by_row = np.bincount(rows, weights=numbers, minlength=size).astype(np.int64)
        return by_row[self.rows if self._span is None else self._span]

    def _image_positions(self, state: ImageState) -> NDArray[np.intp]:
        return self._positions_of(state.row_array)

    def _positions_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Find sorted, distinct rows in this view."""
        if self._whole or rows.size == 0:
            return rows
        return np.flatnonzero(np.isin(self.rows, rows))


def _span(rows: NDArray[np.intp], *, known: bool) -> slice | None:
    """Return rows as a slice where each is one more than the one before; `known`: all from 0."""
    count = len(rows)
    if known or not count:
        return slice(0, count)
    first = int(rows[0])
    if count > 1 and (int(rows[-1]) - first != count - 1 or (np.diff(rows) != 1).any()):
        return None
    return slice(first, first + count)


def _with_room(matrix: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return a matrix with at least so many rows, new ones all 0."""
    missing = rows - len(matrix)
    return matrix if missing <= 0 else np.pad(matrix, ((0, missing), (0, 0)))
