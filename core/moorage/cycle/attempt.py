"""One pod's way through the cycle: filter, score, choose, or report why there is no node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.cache import NodesView
from moorage.cycle.combined import CombinedAnswers
from moorage.cycle.decision import Decision, Details
from moorage.cycle.filtering import Filtering, Profile
from moorage.cycle.steps import Step
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdict import Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Attempt"]


class Attempt:
    """One pod's way through the cycle; `combined` must be up to date."""

    def __init__(
        self, profile: Profile, combined: CombinedAnswers, info: PodInfo, *, details: bool
    ) -> None:
        self._profile = profile
        self._plan = profile.plan
        self._asker = profile.asker
        self._cluster = profile.cluster
        self._combined = combined
        self._info = info
        self._details = details
        self._filtering = Filtering(profile, combined, info)
        self._own_notes: dict[Step, CycleState] = {}
        self.filtered_at = self.refused_at = 0.0
        """When filtering ended, and PostFilter began, by the clock of the metrics."""
        self.post_filter_code: Code | None = None
        """What PostFilter came to; None: nobody was asked."""

    def run(self) -> Decision:
        """Filter, score, choose; PluginError where a plugin fails."""
        nodes = self._cluster.view()
        filtering = self._filtering
        refusal = None if self._combined.is_plain else filtering.pre_filter(nodes)
        if refusal is not None:
            return self._refused(
                Diagnosis(
                    nodes,
                    pre_filter=refusal,
                    excluded_by=filtering.excluded_by,
                    rehearse=filtering.rehearse,
                )
            )
        rows = filtering.nominated()
        if rows is None:
            rows = filtering.feasible()
        self.filtered_at = self._profile.metrics.clock()
        if rows is None:
            return self._choose_shared()
        if not rows.size:
            return self._refused(filtering.diagnose(nodes))
        return self._choose(rows)

    def diagnose(self) -> Diagnosis:
        """Find who refuses each node, also where others pass; PluginError where a plugin fails."""
        nodes = self._cluster.view()
        refusal = self._filtering.pre_filter(nodes)
        if refusal is not None:
            return Diagnosis(nodes, pre_filter=refusal)
        self._filtering.feasible()
        return self._filtering.diagnose(nodes)

    # Scoring and choosing

    def _choose_shared(self) -> Decision:
        """Choose among exactly the rows that the shared answers let pass."""
        combined = self._combined
        if combined.count == 1 or not self._plan.scores:
            return self._placed(self._pick(combined.rows), combined.rows, None)
        if combined.unshared and any(step.score for step in combined.unshared):
            return self._choose(combined.rows)
        if self._plan.only_pre_score:
            self._pre_score(self._cluster.view_of(combined.rows))
        combined.refresh_scores(self._info)
        total = combined.total[: self._cluster.row_count]
        row = self._pick((total == total.max()).nonzero()[0])
        if not self._details:
            return self._placed(row, None, None)
        return self._placed(row, combined.rows, combined.scores_on(combined.rows))

    def _choose(self, rows: NDArray[np.intp]) -> Decision:
        """Choose among rows that are not exactly those of the shared answers."""
        if len(rows) == 1 or not self._plan.scores:
            return self._placed(self._pick(rows), rows, None)
        view = self._cluster.view_of(rows)
        self._pre_score(view)
        parts = self._combined.scores_among(self._info, rows)
        for step in self._combined.unshared:
            if step.score is None:
                continue
            state = self._filtering.state(step)
            if self._asker.pre_score(step, state, self._info, view):
                raw = self._asker.score(step, state, self._info, view)
                scores = self._asker.normalize(step, state, self._info, raw, view)
                parts[step] = scores * step.weight
        total = np.zeros(len(rows), dtype=np.int64)
        for part in parts.values():
            total += part
        return self._placed(self._pick(rows[np.flatnonzero(total == total.max())]), rows, parts)

    def _pre_score(self, nodes: NodesView) -> None:
        """Ask the plugins that have something to note about the nodes that passed, but no score.

        They are asked for each pod; what they note is in no answer that pods share.
        """
        for step in self._plan.only_pre_score:
            state = self._own_notes[step] = CycleState(self._filtering.state(step))
            self._asker.pre_score(step, state, self._info, nodes)

    def _pick(self, best: NDArray[np.intp]) -> int:
        """Choose one of equals at random."""
        if len(best) == 1:
            return int(best[0])
        return int(best[int(self._profile.generator.random() * len(best))])

    def _placed(
        self,
        row: int,
        rows: NDArray[np.intp] | None,
        parts: Mapping[Step, NDArray[np.int64]] | None,
    ) -> Decision:
        """Report a node; `rows` (k,) passed (None: those of the shared answers), `parts` (k,)."""
        details = None
        if self._details and rows is not None:
            names = [self._cluster.name(index) for index in rows.tolist()]
            shown = None if parts is None else {step.name: part for step, part in parts.items()}
            details = Details.of(names, shown)
        return Decision(
            self._info,
            row=row,
            node_name=self._cluster.name(row),
            feasible_count=self._combined.count if rows is None else len(rows),
            evaluated_count=self._cluster.node_count,
            states=self._notes(),
            details=details,
        )

    def _notes(self) -> dict[int, CycleState]:
        """Give the pod its own copy of the notes of plugins that are called again later."""
        own, shared = self._own_notes, self._filtering.state
        return {
            step.place: own[step] if step in own else CycleState(shared(step))
            for step in self._plan.noting
        }

    def _refused(self, diagnosis: Diagnosis) -> Decision:
        """Let the PostFilter plugins try to make room, then report."""
        made_room = None
        # Where nobody was asked for room, nobody stands for what was promised earlier.
        nomination: str | None = ""
        post_filters = self._profile.post_filters
        if len(diagnosis.nodes) and len(post_filters):
            self.refused_at = self._profile.metrics.clock()
            made_room, self.post_filter_code = post_filters.make_room(
                self._info, diagnosis, self._filtering.state_after_pre_filter
            )
            nomination = None if made_room is None else made_room.node_name
        code = Code.UNSCHEDULABLE
        if diagnosis.pre_filter is not None:
            code = diagnosis.pre_filter.code
        details = Details([], None) if self._details else None
        return Decision(
            self._info,
            verdict=Verdict(code, (diagnosis.message(),)),
            diagnosis=diagnosis,
            evaluated_count=self._cluster.node_count,
            nomination=nomination,
            made_room=made_room,
            details=details,
        )
