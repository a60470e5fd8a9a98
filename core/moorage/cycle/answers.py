"""One plugin's answers about pods that look the same to it, kept as long as they hold.

The plugin declares what its answer for a row depends on; the cache logs which rows changed. So
after one pod was placed, one row is asked again, not five thousand.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache, NodesView
from moorage.cycle.asking import Asker, PreFiltered
from moorage.cycle.steps import Step
from moorage.framework.cycle_state import CycleState
from moorage.framework.plugin import Depends
from moorage.model.pod_info import PodInfo

__all__ = ["Freshness", "PluginAnswers"]

S = TypeVar("S", bound=np.generic)

_SMALL: np.dtype[Any] = np.dtype(np.int16)
"""Of the scores that are kept, where they fit: fewer bytes to keep, and to get from the system."""


class Freshness:
    """How far a reader of rows has followed the cluster's changes."""

    __slots__ = ("_capacity", "_cluster", "_depends", "_facts", "_nodes", "_pods")

    def __init__(self, cluster: ClusterCache, depends: Depends) -> None:
        self._cluster = cluster
        self._depends = depends
        self._nodes = self._pods = -1
        self._facts: tuple[int, ...] = ()
        self._capacity = 0

    def stale_rows(self, *, valid_only: bool = True) -> NDArray[np.intp] | None:
        """Return the rows that must be asked again, and count them as asked; None: all.

        Rows that are no nodes any more cannot be asked; `valid_only` leaves them out.
        """
        cluster, depends = self._cluster, self._depends
        nodes, pods, known = self._nodes, self._pods, self._nodes >= 0
        if depends.facts:
            facts = tuple(cluster.facts.get(name, 0) for name in depends.facts)
            known = known and facts == self._facts
            self._facts = facts
        capacity = cluster.columns.capacity
        known = known and capacity == self._capacity
        self._capacity = capacity
        self._nodes, self._pods = cluster.node_changes.end, cluster.pod_changes.end
        if not known:
            return None
        # Nodes that come are changed nodes, whatever the plugin depends on.
        rows, valid_rows = cluster.changed_rows(nodes, pods if depends.pods else None)
        return valid_rows if valid_only else rows


def by_row(cluster: ClusterCache, values: NDArray[Any], dtype: np.dtype[S]) -> NDArray[S]:
    """Spread values of all nodes (n,) over rows; (capacity,) dtype, 0 where a row is no node."""
    spread = np.zeros(cluster.columns.capacity, dtype=dtype)
    count = cluster.row_count
    spread[slice(count) if len(values) == count else cluster.valid_rows] = values
    return spread


class PluginAnswers:
    """What one plugin says of all rows, for one `sign` fragment.

    `codes` (capacity,) int32 by row, 0 where the row passes, None: all pass. `raw` (capacity,) by
    row: float64, or int64 or int16 as they fit; 0 to 100 where nobody normalises; an int: the final
    score of all rows; None: the plugin does not score this pod. Entries of rows that are not nodes
    mean nothing. `filter_version` and `score_version` count the times that everything was asked
    anew; `raw_version` counts changes of any raw score.
    """

    def __init__(self, step: Step, asker: Asker, cluster: ClusterCache) -> None:
        self.step = step
        self.state = CycleState()
        self.pre_filtered = PreFiltered()
        self.codes: NDArray[np.int32] | None = None
        self.raw: NDArray[Any] | int | None = None
        self.filter_version = self.score_version = self.raw_version = 0
        self._asker = asker
        self._cluster = cluster
        self._filter_freshness = Freshness(cluster, step.plugin.filter_depends or Depends())
        self._score_freshness = Freshness(cluster, step.plugin.score_depends or Depends())

    @property
    def filter_watches_pods(self) -> bool:
        """Whether pods that come and go change what `codes` should be."""
        depends = self.step.plugin.filter_depends
        return depends is not None and depends.pods

    @property
    def score_watches_pods(self) -> bool:
        """Whether pods that come and go change what `raw` should be."""
        depends = self.step.plugin.score_depends
        return depends is not None and depends.pods

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return sum(kept.nbytes for kept in (self.codes, self.raw) if isinstance(kept, np.ndarray))

    def refresh_filter(self, info: PodInfo) -> None:
        """Bring `pre_filtered` and `codes` up to date."""
        rows = self._filter_freshness.stale_rows()
        if rows is None:
            self._filter_all(info)
        elif rows.size and self.filters:
            view = self._cluster.view_of(rows)
            codes = self._asker.filter(self.step, self.state, info, view)
            if codes is not None:
                if self.codes is None:
                    self.codes = np.zeros(self._cluster.columns.capacity, dtype=np.int32)
                    self.filter_version += 1
                self.codes[rows] = codes
            elif self.codes is not None:
                self.codes[rows] = 0

    def refresh_scores(self, info: PodInfo, feasible: NDArray[np.intp] | None) -> None:
        """Bring `raw` up to date; `feasible` are the rows that passed, for `pre_score`."""
        rows = self._score_freshness.stale_rows()
        if rows is None:
            self._score_all(info, feasible)
        elif rows.size and self.raw is not None:
            self._keep(rows, self._ask_scores(info, self._cluster.view_of(rows)))

    @property
    def filters(self) -> bool:
        """Whether the plugin is asked about nodes: it filters, and its PreFilter let the pod pass."""
        return self.step.filter is not None and self.pre_filtered.verdict.is_success

    def _filter_all(self, info: PodInfo) -> None:
        view = self._cluster.view()
        self.state = CycleState()
        self.filter_version += 1
        self.codes = None
        # What pre_score noted went with the notes.
        self._score_freshness = Freshness(
            self._cluster, self.step.plugin.score_depends or Depends()
        )
        self.pre_filtered = self._asker.pre_filter(self.step, self.state, info, view)
        if self.filters:
            codes = self._asker.filter(self.step, self.state, info, view)
            if codes is not None:
                self.codes = by_row(self._cluster, codes, codes.dtype)

    def _score_all(self, info: PodInfo, feasible: NDArray[np.intp] | None) -> None:
        cluster = self._cluster
        self.score_version += 1
        self.raw_version += 1
        self.raw = None
        view = cluster.view()
        passed = view if feasible is None else cluster.view_of(feasible)
        if self._asker.pre_score(self.step, self.state, info, passed):
            raw = self.raw = self._ask_scores(info, view)
            if not isinstance(raw, int):
                self.raw = by_row(cluster, raw, self._dtype_of(raw))

    def _keep(self, rows: NDArray[np.intp], raw: NDArray[Any] | int) -> None:
        """Put the scores of some rows among those of all."""
        known = self.raw
        if isinstance(raw, int) and isinstance(known, int) and raw == known:
            return
        if isinstance(raw, int) or not isinstance(known, np.ndarray):
            raise self._asker.undecided(self.step)
        if self.step.normalize is not None:
            if np.array_equal(known[rows], raw):
                return
            dtype = np.promote_types(known.dtype, self._dtype_of(raw))
            known = self.raw = known.astype(dtype, copy=False)
        known[rows] = raw
        self.raw_version += 1

    def _dtype_of(self, raw: NDArray[Any]) -> np.dtype[Any]:
        """Choose how to keep some scores."""
        if self.step.normalize is None:
            return _SMALL
        bounds = np.iinfo(_SMALL)
        fits = (
            raw.dtype.kind == "i"
            and bounds.min <= raw.min(initial=0)
            and raw.max(initial=0) <= bounds.max
        )
        return _SMALL if fits else raw.dtype

    def _ask_scores(self, info: PodInfo, nodes: NodesView) -> NDArray[Any] | int:
        """Ask for scores of n rows; those that nobody normalises are final, and checked here."""
        raw = self._asker.score(self.step, self.state, info, nodes)
        if isinstance(raw, int) or self.step.normalize is not None:
            return raw
        return self._asker.normalize(self.step, self.state, info, raw, nodes)
