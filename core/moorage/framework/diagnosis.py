"""Why no node let a pod pass: codes in arrays, words only when somebody reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.view import NodesView
from moorage.framework.dry_run import DryRun
from moorage.framework.verdict import Code, Verdict

__all__ = ["Diagnosis", "Refusals"]

PASSED = -1
"""In `Refusals.by`: the row was not refused."""


class Refusals(NamedTuple):
    """Who refused each row of a view first, in configured order, and with which code.

    `by` (n,) int16 indexes `plugins`, -1 where the row passed; `codes` (n,) int32 are the
    plugins' own; `explain` turns (index, code) into a verdict that names its plugin.
    """

    plugins: Sequence[str]
    by: NDArray[np.int16]
    codes: NDArray[np.int32]
    explain: Callable[[int, int], Verdict]


class Diagnosis:
    """Why a pod was not placed.

    `nodes` are all nodes of the cluster. `pre_filter` is the verdict that ended the cycle before
    nodes were filtered, if one did. `excluded_by` are the plugins whose `pre_filter` named nodes,
    and `considered` (n,) bool the nodes they left. `refusals` covers the rows of `nodes`.
    `post_filter` is what the PostFilter plugins said. `rehearse` makes the dry runs, where somebody
    can make them. Text is made on demand.
    """

    def __init__(
        self,
        nodes: NodesView,
        *,
        pre_filter: Verdict | None = None,
        excluded_by: frozenset[str] = frozenset(),
        considered: NDArray[np.bool_] | None = None,
        refusals: Refusals | None = None,
        rehearse: Callable[[NDArray[np.intp]], DryRun] | None = None,
    ) -> None:
        self.nodes = nodes
        self.pre_filter = pre_filter
        self.excluded_by = excluded_by
        self.considered = considered
        self.refusals = refusals
        self.post_filter = ""
        self._rehearse = rehearse
        self._refused: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        # Plugin and code of each refused node, as one number.
        self._pairs: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._kinds = self._distinct()

    @property
    def rejecting_plugins(self) -> frozenset[str]:
        """The plugins that refused a node or the pod, Pending ones apart."""
        return frozenset(self._plugins(pending=False)) | self.excluded_by

    @property
    def pending_plugins(self) -> frozenset[str]:
        """The plugins that refused with Pending."""
        return frozenset(self._plugins(pending=True))

    def verdict(self, position: int) -> Verdict:
        """Say why one node was refused; Success where it was not."""
        if self.pre_filter is not None:
            return self.pre_filter
        if self.considered is not None and not self.considered[position]:
            return self._excluded()
        if self.refusals is None or self.refusals.by[position] == PASSED:
            return Verdict()
        return self.refusals.explain(
            int(self.refusals.by[position]), int(self.refusals.codes[position])
        )

    def refused_with(self, code: Code) -> NDArray[np.intp]:
        """Return the positions of the nodes whose verdict has a code; (k,) intp, ascending."""
        if self.pre_filter is not None:
            count = len(self.nodes) if self.pre_filter.code is code else 0
            return np.arange(count, dtype=np.intp)
        wanted = [pair for pair, verdict, _ in self._kinds if verdict.code is code]
        refused = np.isin(self._pairs, wanted)
        found: NDArray[np.intp] = self._refused[refused]
        if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE and self.considered is not None:
            found = np.union1d(found, np.flatnonzero(~self.considered))
        return found

    def dry_run(self, positions: NDArray[np.intp]) -> DryRun:
        """Begin a dry run of nodes at positions (k,) intp, each named once, as they are now.

        Raises RuntimeError for a diagnosis that no cycle made.
        """
        if self._rehearse is None:
            raise RuntimeError("only the diagnosis of a scheduling cycle can make dry runs")
        return self._rehearse(positions)

    def reasons(self) -> dict[str, int]:
        """Count the nodes refused for each reason."""
        counts: Counter[str] = Counter()
        if self.considered is not None:
            missing = len(self.nodes) - int(np.count_nonzero(self.considered))
            if missing:
                counts.update(dict.fromkeys(self._excluded().reasons, missing))
        for _, verdict, count in self._kinds:
            for reason in verdict.reasons:
                counts[reason] += count
        return dict(counts)

    def message(self) -> str:
        """Word the diagnosis as kube-scheduler does in the PodScheduled condition."""
        if not len(self.nodes):
            return "no nodes available to schedule pods"
        if self.pre_filter is not None and self.pre_filter.message:
            text = f"0/{len(self.nodes)} nodes are available: {self.pre_filter.message}."
        else:
            text = self.wording(self.reasons())
        return f"{text} {self.post_filter}" if self.post_filter else text

    def wording(self, reasons: Mapping[str, int]) -> str:
        """Word why none of the nodes is available, by how many each reason is about."""
        parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
        text = f"0/{len(self.nodes)} nodes are available:"
        return f"{text} {', '.join(parts)}." if parts else text

    def _plugins(self, *, pending: bool) -> set[str]:
        verdicts = [verdict for _, verdict, _ in self._kinds]
        if self.pre_filter is not None:
            verdicts.append(self.pre_filter)
        return {
            verdict.plugin
            for verdict in verdicts
            if verdict.plugin and (verdict.code is Code.PENDING) == pending
        }

    def _excluded(self) -> Verdict:
        names = " ".join(sorted(self.excluded_by))
        return Verdict.unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")

    def _distinct(self) -> list[tuple[int, Verdict, int]]:
        """Turn codes into words once for each distinct (plugin, code): (both, words, nodes)."""
        if self.refusals is None:
            return []
        by, codes = self.refusals.by, self.refusals.codes
        refused = by != PASSED
        if self.considered is not None:
            refused &= self.considered
        self._refused = np.flatnonzero(refused)
        self._pairs = (by[self._refused].astype(np.int64) << 32) | codes[self._refused]
        kinds, counts = np.unique(self._pairs, return_counts=True)
        return [
            (pair, self.refusals.explain(pair >> 32, pair & 0xFFFFFFFF), count)
            for pair, count in zip(kinds.tolist(), counts.tolist(), strict=True)
        ]
