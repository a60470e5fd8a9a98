"""Who would have to go from each of many nodes, so that a pod fits there."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.default_preemption.budgets import violating

__all__ = ["NO_VICTIMS", "Found", "Rehearsal"]

NO_VICTIMS = "No preemption victims found for incoming pod"
_NO_NEED = "expected at least one victim pod"
"""Not to be seen unless a plugin refuses in PreFilter what it lets pass in Filter."""


class Found(NamedTuple):
    """k nodes on which the pod would fit, and at whose cost, node by node.

    `positions` (k,) in the view of all nodes; `violations` (k,) counts the victims that break a
    disruption budget. `pods`, `priorities` and `started` (v,) are the victims, of each node the most
    important first; `firsts` (k,) is where those of each node begin.
    """

    positions: NDArray[np.intp]
    violations: NDArray[np.int64]
    firsts: NDArray[np.intp]
    pods: NDArray[np.object_]
    priorities: NDArray[np.int64]
    started: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many victims each node has; (k,)."""
        return np.diff(np.append(self.firsts, len(self.pods)))

    def victims(self, index: int) -> tuple[moorage.PodInfo, ...]:
        """Return the victims of one node."""
        first = self.firsts[index]
        return tuple(self.pods[first : first + self.counts[index]].tolist())

    def and_then(self, other: Found) -> Found:
        """Return these nodes and others after them."""
        both = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        both[2] = np.concatenate([self.firsts, other.firsts + len(self.pods)])
        return Found(*both)


class Rehearsal:
    """What came of looking at n nodes at once: on which of them the pod would fit, and why not.

    `positions` (n,) intp are the nodes in the view of the diagnosis.
    """

    def __init__(
        self,
        diagnosis: moorage.Diagnosis,
        positions: NDArray[np.intp],
        *,
        priority: int,
        budgets: moorage.BudgetStore,
    ) -> None:
        self._run = diagnosis.dry_run(positions)
        pods = self._run.nodes.pods_below(priority)
        self._has_pods = np.zeros(len(positions), dtype=np.bool_)
        self._has_pods[pods.positions] = True
        self._fits = self._has_pods.copy()
        self._spares_all = np.zeros(len(positions), dtype=np.bool_)
        if len(pods):
            self._run = self._run.without_pods(pods)
            self._fits &= self._run.passes
        self.found = self._find(positions, pods, budgets)

    def reasons(self) -> dict[str, int]:
        """Count why the pod would not fit on the other nodes."""
        refused = np.flatnonzero(self._has_pods & ~self._fits)
        counts = Counter(self._run.reasons(refused) if refused.size else {})
        for reason, nodes in ((NO_VICTIMS, ~self._has_pods), (_NO_NEED, self._spares_all)):
            count = int(np.count_nonzero(nodes))
            if count:
                counts[reason] += count
        return dict(counts)

    def _find(
        self,
        positions: NDArray[np.intp],
        pods: moorage.PodsOnRows,
        budgets: moorage.BudgetStore,
    ) -> Found:
        """Take back as many pods as possible, the same place in the order of all rows at a time."""
        if not self._fits.all():
            pods = pods.take(np.flatnonzero(self._fits[pods.positions]))
        breaks = violating(pods, budgets)
        goes = ~self._spare(pods, breaks)
        violations = np.bincount(pods.positions[goes & breaks], minlength=len(positions))
        counts = np.bincount(pods.positions[goes], minlength=len(positions))
        nodes = np.flatnonzero(counts)
        self._spares_all = self._fits & (counts == 0)
        return Found(
            positions[nodes],
            violations[nodes],
            np.cumsum(counts[nodes]) - counts[nodes],
            pods.infos[goes],
            pods.priorities[goes],
            pods.starts[goes],
        )

    def _spare(self, pods: moorage.PodsOnRows, breaks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say which pods can stay; (m,) bool. Those that would break a budget are asked first."""
        run = self._run
        order, ends = _rounds(pods.positions, breaks)
        # Sorted once, so that each round is a slice.
        pods = pods.take(order)
        stays = np.zeros(len(pods), dtype=np.bool_)
        first = 0
        for end in ends:
            asked = pods.take(slice(first, end))
            trial = run.with_pods(asked)
            fits = trial.passes[asked.positions]
            stays[first:end] = fits
            first, count = end, np.count_nonzero(fits)
            if count == len(asked):
                run = trial
            elif 2 * count > len(asked):
                run = trial.without_pods(asked.take(np.flatnonzero(~fits)))
            elif count:
                run = run.with_pods(asked.take(np.flatnonzero(fits)))
        spared = np.empty_like(stays)
        spared[order] = stays
        return spared


def _rounds(
    positions: NDArray[np.intp], breaks: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], list[int]]:
    """Order pods so that each round takes the next one of every row that has one left.

    Returns indices of pods (m,), and where each round ends among them. `positions` (m,) is
    ascending, and of each row the most important pod stands first.
    """
    by_row = np.lexsort((~breaks, positions)) if breaks.any() else np.arange(len(positions))
    starts = np.flatnonzero(np.diff(positions, prepend=-1))
    counts = np.diff(starts, append=len(positions))
    number = np.arange(len(positions)) - np.repeat(starts, counts)
    ends = np.cumsum(np.bincount(number)).tolist()
    return by_row[np.argsort(number, kind="stable")], ends
