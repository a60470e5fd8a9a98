"""What all sharing plugins of a profile say of all rows, for pods that look the same to them all.

Which rows pass and what they score is kept by row and brought up to date by the rows that
changed, so that a pod like one before costs a few rows and one look for the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache, NodesView
from moorage.cycle.answers import Freshness, PluginAnswers
from moorage.cycle.asking import Asker
from moorage.cycle.steps import Plan, Step
from moorage.framework.plugin import Depends
from moorage.framework.verdict import Code
from moorage.model.pod_info import PodInfo

__all__ = ["NOT_FEASIBLE", "CombinedAnswers"]

NOT_FEASIBLE = -1
"""In `CombinedAnswers.total`: the row did not pass."""

_MOST_PARTS = 64
"""Sets of changed rows that wait to be summed, before they are made one."""
_NONE: NDArray[np.intp] = np.empty(0, dtype=np.intp)


class CombinedAnswers:
    """One signature's answers: `passes` (capacity,) bool and `total` (capacity,) int by row.

    `total` is the weighted sum of normalised scores over the rows that pass, without those that all
    rows have alike, -1 elsewhere; it is filled in only when somebody asks for scores. `count` is how
    many rows pass. `answers` are those of the single plugins; the plugins in `unshared` must be
    asked for each pod. `is_plain`: there are none, and no PreFilter plugin refused the pod or named
    nodes.
    """

    def __init__(
        self,
        plan: Plan,
        asker: Asker,
        cluster: ClusterCache,
        answers: Mapping[Step, PluginAnswers],
    ) -> None:
        self.answers = answers
        self.unshared = tuple(step for step in plan.asked if step not in answers)
        self.passes: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.total: NDArray[np.integer[Any]] = np.zeros(0, dtype=plan.score_dtype)
        self.count = 0
        self.is_plain = False
        self._asker = asker
        self._cluster = cluster
        self._all = list(answers.values())
        self._filters = [answers[step] for step in plan.filters if step in answers]
        self._scores = [answers[step] for step in plan.scores if step in answers]
        self._moving: list[PluginAnswers] = []
        self._moving_scores = [entry for entry in self._scores if entry.score_watches_pods]
        self._moving_parts = [self._scores.index(entry) for entry in self._moving_scores]
        self._freshness = Freshness(cluster, Depends(node=True, pods=True))
        self._filter_versions: dict[PluginAnswers, int] = {}
        self._standing = self._scored_standing = self._summed_standing = (-1, -1)
        # Weighted scores, a row a scoring plugin, in the order of `_scores`; only those at
        # `_scoring` mean anything.
        self._scoring = _NONE
        self._parts: NDArray[np.integer[Any]] = np.zeros((0, 0), dtype=plan.score_dtype)
        self._seen: list[tuple[int, int] | None] = [None] * len(self._scores)
        self._changed: list[NDArray[np.intp]] = []
        self._flipped = True
        # Only while scores are refreshed: a view must not outlive the state it shows.
        self._passing_rows: tuple[NDArray[np.intp] | slice, NodesView] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays of its own."""
        return self.passes.nbytes + self.total.nbytes + self._parts.nbytes

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows that pass, ascending; (count,) intp, new."""
        return np.flatnonzero(self.passes)

    # Filtering

    def refresh_filters(self, info: PodInfo) -> None:
        """Bring every plugin's filter answers, `passes` and `count` up to date."""
        standing = self._cluster.standing
        # Where no node and no fact changed, only plugins that watch pods can have changed.
        entries = self._moving if standing == self._standing else self._all
        anew = False
        for entry in entries:
            entry.refresh_filter(info)
            if self._filter_versions.get(entry) != entry.filter_version:
                self._filter_versions[entry] = entry.filter_version
                anew = True
        self._standing = standing
        rows = self._freshness.stale_rows(valid_only=False)
        if anew or rows is None:
            self._pass_all()
        elif rows.size:
            self._pass_rows(rows)

    def _pass_all(self) -> None:
        passes = self._cluster.columns.valid.copy()
        for entry in self._filters:
            if entry.codes is not None:
                passes &= entry.codes == 0
        self.passes = passes
        # A plugin whose PreFilter skipped this pod is not asked about pods that come and go.
        self._moving = [entry for entry in self._all if entry.filter_watches_pods and entry.filters]
        self.count = int(np.count_nonzero(passes))
        self.is_plain = not self.unshared and all(
            entry.pre_filtered.names is None
            and (
                entry.pre_filtered.verdict.is_success
                or entry.pre_filtered.verdict.code is Code.SKIP
            )
            for entry in self._all
        )
        self._flipped = True
        self._seen = [None] * len(self._scores)
        # A plugin that was asked anew has new notes, without those of its pre_score.
        self._scored_standing = self._summed_standing = (-1, -1)

    def _pass_rows(self, rows: NDArray[np.intp]) -> None:
        passes = self._cluster.columns.valid[rows]
        for entry in self._filters:
            if entry.codes is not None:
                passes &= entry.codes[rows] == 0
        before = self.passes[rows]
        if np.count_nonzero(passes != before):
            self.passes[rows] = passes
            self.count += int(np.count_nonzero(passes)) - int(np.count_nonzero(before))
            self._flipped = True
        self._changed.append(rows)
        if len(self._changed) > _MOST_PARTS:
            self._changed = [_union(self._changed)]

    # Scoring

    def refresh_scores(self, info: PodInfo) -> None:
        """Bring every plugin's raw scores, and `total` over `passes`, up to date."""
        self._refresh_raw(info, None)
        # Where no node and no fact changed, only plugins that watch pods can have changed.
        anew = self._flipped or self._cluster.standing != self._summed_standing
        self._summed_standing = self._cluster.standing
        capacity = len(self.passes)
        if self._parts.shape[1] != capacity:
            self._parts = np.empty((len(self._scores), capacity), dtype=self._parts.dtype)
        rows = _union(self._changed)
        everything = False
        for index in range(len(self._scores)) if anew else self._moving_parts:
            everything |= self._refresh_part(index, self._scores[index], info, rows)
        if everything or len(self.total) != capacity:
            self._sum_all()
        elif rows.size == 1:
            row = int(rows[0])
            total = self._parts[self._scoring, row].sum() if self.passes[row] else NOT_FEASIBLE
            self.total[row] = total
        elif rows.size:
            parts = self._parts[self._scoring[:, np.newaxis], rows]
            total = np.add.reduce(parts, dtype=self._parts.dtype)
            self.total[rows] = np.where(self.passes[rows], total, NOT_FEASIBLE)
        self._changed.clear()
        self._flipped = False
        self._passing_rows = None

    def _sum_all(self) -> None:
        """Sum the parts of the plugins that score this pod; of most pods, some do not."""
        scoring = [i for i, entry in enumerate(self._scores) if isinstance(entry.raw, np.ndarray)]
        self._scoring = np.array(scoring, dtype=np.intp)
        total = np.zeros(len(self.passes), dtype=self._parts.dtype)
        for index in scoring:
            total += self._parts[index]
        np.putmask(total, ~self.passes, NOT_FEASIBLE)
        self.total = total

    def scores_on(self, rows: NDArray[np.intp]) -> dict[Step, NDArray[np.int64]]:
        """Return the weighted scores (k,) int64 by plugin that `total` was last made of."""
        return {
            entry.step: self._final(entry, entry.raw, len(rows))
            if isinstance(entry.raw, int)
            else self._parts[index, rows].astype(np.int64)
            for index, entry in enumerate(self._scores)
            if entry.raw is not None
        }

    def scores_among(self, info: PodInfo, rows: NDArray[np.intp]) -> dict[Step, NDArray[np.int64]]:
        """Return weighted scores (k,) int64 by plugin where only `rows` (k,) passed."""
        self._refresh_raw(info, rows)
        view = self._cluster.view_of(rows)
        return {
            entry.step: self._weighted(entry, info, rows, view)
            for entry in self._scores
            if entry.raw is not None
        }

    def _refresh_raw(self, info: PodInfo, rows: NDArray[np.intp] | None) -> None:
        standing = self._cluster.standing
        entries = self._moving_scores if standing == self._scored_standing else self._scores
        for entry in entries:
            if rows is None and not entry.score_version:
                rows = self.rows
            entry.refresh_scores(info, rows)
        self._scored_standing = standing

    def _refresh_part(
        self, index: int, entry: PluginAnswers, info: PodInfo, changed: NDArray[np.intp]
    ) -> bool:
        """Bring one plugin's weighted scores up to date; True where more than `changed` rows did."""
        seen, now = self._seen[index], (entry.score_version, entry.raw_version)
        self._seen[index] = now
        part = self._parts[index]
        # Of the type of sums, so that products of small integers are, too.
        weight = part.dtype.type(entry.step.weight)
        anew = seen is None or seen[0] != now[0]
        if not isinstance(entry.raw, np.ndarray):
            return anew
        if entry.step.normalize is None:
            if anew:
                np.multiply(entry.raw, weight, out=part)
            elif seen != now:
                part[changed] = entry.raw[changed] * weight
            return anew
        if not anew and not self._flipped and seen == now:
            return False
        rows, view = self._passing()
        if anew:
            part[:] = 0
        part[rows] = self._weighted(entry, info, rows, view)
        return True

    def _passing(self) -> tuple[NDArray[np.intp] | slice, NodesView]:
        """Return the rows that pass, as a slice where that is all of them, and a view of them."""
        if self._passing_rows is None:
            count = self._cluster.row_count
            if self.count == count:
                self._passing_rows = slice(0, count), self._cluster.view()
            else:
                rows = self.rows
                self._passing_rows = rows, self._cluster.view_of(rows)
        return self._passing_rows

    def _weighted(
        self,
        entry: PluginAnswers,
        info: PodInfo,
        rows: NDArray[np.intp] | slice,
        view: NodesView,
    ) -> NDArray[np.int64]:
        assert entry.raw is not None  # noqa: S101 - asked only where there are scores
        if isinstance(entry.raw, int):
            return self._final(entry, entry.raw, len(view))
        scores = entry.raw[rows]
        if scores.dtype.kind == "i":
            scores = scores.astype(np.int64, copy=False)
        if entry.step.normalize is not None:
            scores = self._asker.normalize(entry.step, entry.state, info, scores, view)
        return scores * entry.step.weight

    @staticmethod
    def _final(entry: PluginAnswers, score: int, count: int) -> NDArray[np.int64]:
        return np.full(count, score * entry.step.weight, dtype=np.int64)


def _union(parts: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    if not parts:
        return _NONE
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
