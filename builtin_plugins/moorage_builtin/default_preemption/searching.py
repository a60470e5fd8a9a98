"""As many nodes as are worth comparing, found from a random one on."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.default_preemption.victims import Found, Rehearsal

__all__ = ["Search"]

_AT_ONCE = 64
"""Nodes rehearsed together at least: a few dozen cost about as much as one."""
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class Search:
    """The nodes where preemption may help, looked at until enough are found.

    `wanted` are enough, once one of them breaks no disruption budget. `found` are the nodes in the
    order found, None: there is none; `kept` are those to compare (indices).
    """

    def __init__(
        self,
        diagnosis: moorage.Diagnosis,
        potential: NDArray[np.intp],
        wanted: int,
        *,
        priority: int,
        budgets: moorage.BudgetStore,
    ) -> None:
        self._diagnosis = diagnosis
        self._potential = potential
        self._wanted = wanted
        self._rehearsals: list[Rehearsal] = []
        self.found: Found | None = None
        self.kept: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        looked_at = 0
        while looked_at < len(potential) and not self._has_enough:
            known = 0 if self.found is None else len(self.found.positions)
            # Some more than are missing: a few of them will not do.
            size = max((wanted - known) * 9 // 8, _AT_ONCE)
            some = potential[looked_at : looked_at + size]
            looked_at += len(some)
            self._add(Rehearsal(diagnosis, some, priority=priority, budgets=budgets))

    def message(self) -> str:
        """Say why no node was found."""
        counts: Counter[str] = Counter()
        for rehearsal in self._rehearsals:
            counts.update(rehearsal.reasons())
        others = len(self._diagnosis.nodes) - len(self._potential)
        if others:
            counts[_NOT_HELPFUL] += others
        return self._diagnosis.wording(counts)

    def _add(self, rehearsal: Rehearsal) -> None:
        self._rehearsals.append(rehearsal)
        if not len(rehearsal.found.positions):
            return
        found = rehearsal.found
        self.found = found if self.found is None else self.found.and_then(found)
        self.kept = self._worth_comparing(self.found.violations)

    @property
    def _has_enough(self) -> bool:
        return (
            self.found is not None
            and len(self.kept) >= self._wanted
            and not self.found.violations[self.kept].all()
        )

    def _worth_comparing(self, violations: NDArray[np.int64]) -> NDArray[np.intp]:
        """Leave out what kube-scheduler would not have looked at, or not have kept."""
        breaks = violations > 0
        kept = ~breaks | (np.cumsum(breaks) <= self._wanted)
        enough = (np.cumsum(kept) >= self._wanted) & (np.cumsum(~breaks) > 0)
        if enough.any():
            kept[np.argmax(enough) + 1 :] = False
        return np.flatnonzero(kept)
