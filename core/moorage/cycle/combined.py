"""What all sharing plugins of a profile say of all rows, for pods that look the same to them all.

Which rows pass and what they score is kept by row and brought up to date by the rows that
changed, so that a pod like one before costs a few rows and one look for the best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache
from moorage.cycle.answers import Freshness, PluginAnswers
from moorage.cycle.asking import Asker
from moorage.cycle.steps import Plan, Step
from moorage.framework.plugin import Depends
from moorage.model.pod_info import PodInfo

__all__ = ["CombinedAnswers"]

NOT_FEASIBLE = -1
"""In `CombinedAnswers.total`: the row did not pass."""


class CombinedAnswers:
    """One signature's answers: `passes` (capacity,) bool and `total` (capacity,) int64 by row.

    `total` is the weighted sum of normalised scores over the rows that pass, -1 elsewhere; it is
    filled in only when somebody asks for scores. `count` is how many rows pass.
    """

    def __init__(
        self, plan: Plan, asker: Asker, cluster: ClusterCache, answers: dict[Step, PluginAnswers]
    ) -> None:
        self.answers = answers
        self.passes: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.total: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.count = 0
        self.parts: dict[Step, NDArray[np.int64]] = {}
        self._asker = asker
        self._cluster = cluster
        self._filters = [answers[step] for step in plan.filters if step in answers]
        self._scores = [answers[step] for step in plan.scores if step in answers]
        self._all = list(answers.values())
        self._moving = [entry for entry in self._all if _watches_pods(entry)]
        self._moving_scores = [entry for entry in self._scores if _scores_pods(entry)]
        self._freshness = Freshness(cluster, Depends(node=True, pods=True))
        self._filter_versions: list[int] = []
        self._standing = self._scored_standing = (-1, -1)
        self._versions: dict[Step, tuple[int, int]] = {}
        self._changed: list[NDArray[np.intp]] = []
        self._flipped = True

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays of its own."""
        parts = sum(part.nbytes for part in self.parts.values())
        return self.passes.nbytes + self.total.nbytes + parts

    # Filtering

    def refresh_filters(self, info: PodInfo) -> None:
        """Bring every plugin's filter answers, `passes` and `count` up to date."""
        standing = self._cluster.standing
        entries = self._moving if standing == self._standing else self._all
        for entry in entries:
            entry.refresh_filter(info)
        self._standing = standing
        rows = self._freshness.stale_rows(valid_only=False)
        versions = [entry.filter_version for entry in self._filters]
        if rows is None or versions != self._filter_versions:
            self._filter_versions = versions
            self._pass_all()
        elif rows.size:
            self._pass_rows(rows)

    def _pass_all(self) -> None:
        valid = self._cluster.columns.valid
        passes = valid.copy()
        for entry in self._filters:
            if entry.codes is not None:
                passes &= entry.codes == 0
        self.passes = passes
        self.count = int(np.count_nonzero(passes))
        self._flipped = True
        self._versions.clear()

    def _pass_rows(self, rows: NDArray[np.intp]) -> None:
        passes = self._cluster.columns.valid[rows]
        for entry in self._filters:
            if entry.codes is not None:
                passes &= entry.codes[rows] == 0
        before = self.passes[rows]
        if not np.array_equal(passes, before):
            self.passes[rows] = passes
            self.count += int(np.count_nonzero(passes)) - int(np.count_nonzero(before))
            self._flipped = True
        self._changed.append(rows)

    # Scoring

    def refresh_scores(self, info: PodInfo) -> None:
        """Bring every plugin's raw scores, and `total` over `passes`, up to date."""
        self._refresh_raw(info, None)
        anew = self._flipped or not self.parts
        renormalised = False
        rows = _union(self._changed)
        for entry in self._scores:
            renormalised |= self._refresh_part(entry, info, rows, anew=anew)
        if renormalised or len(self.total) != len(self.passes):
            self._sum_all()
        elif rows.size:
            total = np.zeros(len(rows), dtype=np.int64)
            for part in self.parts.values():
                total += part[rows]
            total[~self.passes[rows]] = NOT_FEASIBLE
            self.total[rows] = total
        self._changed.clear()
        self._flipped = False

    def totals_on(self, info: PodInfo, rows: NDArray[np.intp]) -> dict[Step, NDArray[np.int64]]:
        """Return weighted scores (k,) int64 by plugin where only `rows` (k,) passed."""
        self._refresh_raw(info, rows)
        return {
            entry.step: self._weighted(entry, info, rows)
            for entry in self._scores
            if entry.raw is not None
        }

    def _refresh_raw(self, info: PodInfo, rows: NDArray[np.intp] | None) -> None:
        standing = self._cluster.standing
        entries = self._moving_scores if standing == self._scored_standing else self._scores
        feasible = rows
        for entry in entries:
            if feasible is None and not entry.score_version:
                feasible = np.flatnonzero(self.passes)
            entry.refresh_scores(info, feasible)
        self._scored_standing = standing

    def _refresh_part(
        self, entry: PluginAnswers, info: PodInfo, rows: NDArray[np.intp], *, anew: bool
    ) -> bool:
        """Bring one plugin's weighted scores up to date; True where more than `rows` changed."""
        step = entry.step
        seen = self._versions.get(step)
        versions = (entry.score_version, entry.raw_version)
        self._versions[step] = versions
        if entry.raw is None:
            return self.parts.pop(step, None) is not None
        fresh = seen is None or seen[0] != versions[0] or step not in self.parts
        if step.normalize is None and not fresh:
            passed = rows[self.passes[rows]]
            if passed.size and seen != versions:
                self.parts[step][passed] = self._weighted(entry, info, passed)
            return False
        if not fresh and not anew and seen == versions:
            return False
        part = np.zeros(len(self.passes), dtype=np.int64)
        feasible = np.flatnonzero(self.passes)
        part[feasible] = self._weighted(entry, info, feasible)
        self.parts[step] = part
        return True

    def _weighted(
        self, entry: PluginAnswers, info: PodInfo, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        assert entry.raw is not None  # noqa: S101 - asked only where there are scores
        cluster = self._cluster
        view = cluster.view() if len(rows) == cluster.node_count else cluster.view_of(rows)
        scores = self._asker.normalize(entry.step, entry.state, info, entry.raw[rows], view)
        return scores * entry.step.weight

    def _sum_all(self) -> None:
        total = np.zeros(len(self.passes), dtype=np.int64)
        for part in self.parts.values():
            total += part
        total[~self.passes] = NOT_FEASIBLE
        self.total = total


def _watches_pods(entry: PluginAnswers) -> bool:
    depends = entry.step.plugin.filter_depends
    return depends is not None and depends.pods


def _scores_pods(entry: PluginAnswers) -> bool:
    depends = entry.step.plugin.score_depends
    return depends is not None and depends.pods


_NONE: NDArray[np.intp] = np.empty(0, dtype=np.intp)


def _union(parts: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    if not parts:
        return _NONE
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
