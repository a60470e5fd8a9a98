"""One pod's way through the cycle: filter, score, choose, or diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache, NodesView, PodsOnRows
from moorage.cycle.asking import Asker, PreFiltered
from moorage.cycle.combined import NOT_FEASIBLE, CombinedAnswers
from moorage.cycle.decision import Decision, Details
from moorage.cycle.dry_run import FilterRun, RowFilters, looks_at_pods
from moorage.cycle.post_filtering import PostFilters
from moorage.cycle.steps import Plan, Step
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis, Refusals
from moorage.framework.profile import Framework
from moorage.framework.verdict import Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Attempt", "Nominator", "Profile"]

_FEWEST_SAMPLED = 100
_CHUNK = 128


class Nominator(Protocol):
    """Whom the cycle must expect on nodes, beside the pods that are there."""

    def at_least(self, priority: int, *, besides: str) -> Mapping[str, Sequence[PodInfo]]:
        """Return the nominated pods of a priority or higher, by node; `besides` a pod's uid."""
        ...


class Profile:
    """What all attempts of one profile have in common; `next_start`: where sampling goes on."""

    def __init__(
        self,
        framework: Framework,
        cluster: ClusterCache,
        plan: Plan,
        asker: Asker,
        nominator: Nominator | None,
    ) -> None:
        self.framework = framework
        self.cluster = cluster
        self.plan = plan
        self.asker = asker
        self.nominator = nominator
        self.generator = framework.services.generator
        self.metrics = framework.services.metrics.profile(framework.profile_name)
        self.post_filters = PostFilters(framework, plan)
        self.next_start = 0


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
        self._states = {step: CycleState() for step in combined.unshared}
        self._pre_filtered: dict[Step, PreFiltered] = {}
        self._codes: dict[Step, NDArray[np.int32]] = {}
        self._expected_codes: dict[Step, NDArray[np.int32]] = {}
        self._names: frozenset[str] | None = None
        self._excluded_by: frozenset[str] = frozenset()
        self.filtered_at = self.refused_at = 0.0
        """When filtering ended, and PostFilter began, by the clock of the metrics."""

    def run(self) -> Decision:
        """Filter, score, choose; PluginError where a plugin fails."""
        nodes = self._cluster.view()
        refusal = None if self._combined.is_plain else self._pre_filter(nodes)
        if refusal is not None:
            return self._refused(Diagnosis(nodes, pre_filter=refusal, rehearse=self._rehearse))
        rows = self._nominated()
        if rows is None:
            rows = self._feasible()
        self.filtered_at = self._profile.metrics.clock()
        if rows is None:
            return self._choose_shared()
        if not rows.size:
            return self._refused(self._diagnose(nodes))
        return self._choose(rows)

    def diagnose(self) -> Diagnosis:
        """Find who refuses each node, also where others pass; PluginError where a plugin fails."""
        nodes = self._cluster.view()
        refusal = self._pre_filter(nodes)
        if refusal is not None:
            return Diagnosis(nodes, pre_filter=refusal)
        self._feasible()
        return self._diagnose(nodes)

    # Filtering

    def _pre_filter(self, nodes: NodesView) -> Verdict | None:
        """Ask the PreFilter plugins that do not share; return what ends the cycle, if anything."""
        refusal: Verdict | None = None
        names: frozenset[str] | None = None
        named_by: list[str] = []
        for step in self._plan.pre_filters:
            shared = self._combined.answers.get(step)
            if shared is None:
                answer = self._asker.pre_filter(step, self._states[step], self._info, nodes)
                self._pre_filtered[step] = answer
            else:
                answer = shared.pre_filtered
            verdict = answer.verdict
            if verdict.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return verdict
            if verdict.is_rejection:
                refusal = verdict
            if answer.names is not None:
                named_by.append(step.name)
                names = answer.names if names is None else names & answer.names
                if not names:
                    return _no_name_left(named_by)
        self._names = names
        self._excluded_by = frozenset(named_by)
        return refusal

    def _nominated(self) -> NDArray[np.intp] | None:
        """Return the row that the pod is nominated to, if it passes: then no other is looked at."""
        pod = self._info.pod
        nominations = self._profile.framework.services.nominations
        if nominations is None:
            name = pod.status.nominated_node_name
        else:
            name = nominations.node_of(pod.metadata.uid)
        row = self._cluster.row(name) if name else None
        if row is None or not self._combined.passes[row]:
            return None
        rows = self._passing_all(np.array([row], dtype=np.intp))
        return rows if rows.size else None

    def _feasible(self) -> NDArray[np.intp] | None:
        """Return the rows that pass; None: exactly those of the shared answers."""
        combined = self._combined
        rows: NDArray[np.intp] | None = None
        if self._names is not None:
            named = {row for name in self._names if (row := self._cluster.row(name)) is not None}
            rows = np.array(sorted(named), dtype=np.intp)
            rows = rows[combined.passes[rows]]
        if rows is None and not self._unshared_filters and not self._expected:
            return None if combined.count else np.empty(0, dtype=np.intp)
        return self._passing_all(combined.rows if rows is None else rows)

    def _passing_all(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of the rows, all let pass by shared answers, that pass altogether."""
        if self._expected:
            rows = self._pass_with_expected(rows)
        filters = self._unshared_filters
        limit = self._sample_size()
        if limit < len(rows) and any(step.takes_nodes_singly for step in filters):
            return self._sample(filters, rows, limit)
        return self._ask_unshared(filters, rows)

    @property
    def _unshared_filters(self) -> list[Step]:
        return [step for step in self._combined.unshared if self._filters(step)]

    def _filters(self, step: Step) -> bool:
        shared = self._combined.answers.get(step)
        answer = self._pre_filtered.get(step) if shared is None else shared.pre_filtered
        return step.filter is not None and (answer is None or answer.verdict.is_success)

    def _state(self, step: Step) -> CycleState:
        shared = self._combined.answers.get(step)
        return self._states[step] if shared is None else shared.state

    def _ask_unshared(self, steps: Sequence[Step], rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Ask the plugins that do not share, each about the rows that those before it left."""
        for step in steps:
            known = self._codes.setdefault(
                step, np.full(self._cluster.columns.capacity, NOT_FEASIBLE, dtype=np.int32)
            )
            rows = rows[self._ask_rows(step, rows, known)]
        return rows

    def _sample(
        self, steps: Sequence[Step], rows: NDArray[np.intp], limit: int
    ) -> NDArray[np.intp]:
        """Ask about some rows after others until enough pass, from where the last pod stopped."""
        start = self._profile.next_start % len(rows)
        order = np.concatenate([rows[start:], rows[:start]])
        found: list[NDArray[np.intp]] = []
        asked = 0
        while asked < len(order) and sum(map(len, found)) < limit:
            chunk = order[asked : asked + _CHUNK]
            found.append(self._ask_unshared(steps, chunk))
            asked += len(chunk)
        self._profile.next_start += asked
        return np.sort(np.concatenate(found)[:limit])

    def _ask_rows(
        self, step: Step, rows: NDArray[np.intp], known: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        codes = self._asker.filter(
            step, self._states[step], self._info, self._cluster.view_of(rows)
        )
        known[rows] = 0 if codes is None else codes
        passed: NDArray[np.bool_] = known[rows] == 0
        return passed

    def _sample_size(self) -> int:
        count = self._cluster.node_count
        percentage = self._profile.framework.percentage_of_nodes_to_score
        if not 0 < percentage < 100:  # noqa: PLR2004 - percent
            return count
        return max(_FEWEST_SAMPLED, count * percentage // 100)

    # Pods that are expected on nodes

    @cached_property
    def _expected(self) -> dict[int, Sequence[PodInfo]]:
        return self._expected_pods()

    def _expected_pods(self) -> dict[int, Sequence[PodInfo]]:
        nominator = self._profile.nominator
        if nominator is None:
            return {}
        expected = nominator.at_least(self._info.priority, besides=self._info.uid)
        return {
            row: pods
            for name, pods in expected.items()
            if (row := self._cluster.row(name)) is not None and pods
        }

    def _expected_among(self, rows: NDArray[np.intp]) -> list[tuple[int, PodInfo]]:
        """Pair the pods that are expected on some rows, all distinct, with the row's place there."""
        if not self._expected:
            return []
        place = {row: position for position, row in enumerate(rows.tolist())}
        return [
            (place[row], pod)
            for row, pods in self._expected.items()
            if row in place
            for pod in pods
        ]

    def _pass_with_expected(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Leave out rows that do not pass with the expected pods added; both ways must agree."""
        # Also rows that do not pass as they are: with the pods another plugin may refuse first.
        asked = np.array(sorted(self._expected), dtype=np.intp)
        if self._names is not None:
            named = [row for name in self._names if (row := self._cluster.row(name)) is not None]
            asked = asked[np.isin(asked, named)]
        if not asked.size:
            return rows
        pairs = [
            (position, pod)
            for position, row in enumerate(asked.tolist())
            for pod in self._expected[row]
        ]
        added = PodsOnRows.of(self._cluster.columns, pairs)
        view = self._cluster.view_of(asked).with_pods(added)
        passes = np.ones(len(asked), dtype=np.bool_)
        for step in self._plan.filters:
            if self._filters(step):
                codes = self._codes_with(step, asked, view, added)
                if codes is not None:
                    by_row = np.zeros(self._cluster.columns.capacity, dtype=np.int32)
                    by_row[asked] = codes
                    self._expected_codes[step] = by_row
                    passes &= codes == 0
        return rows[~np.isin(rows, asked[~passes])]

    def _codes_with(
        self, step: Step, rows: NDArray[np.intp], view: NodesView, added: PodsOnRows
    ) -> NDArray[np.int32] | None:
        """Ask a plugin about rows with pods added; what cannot depend on pods is known already."""
        shared = self._combined.answers.get(step)
        if shared is not None and not looks_at_pods(step):
            return None if shared.codes is None else shared.codes[rows]
        state = self._asker.change_pods(step, self._state(step), self._info, view, added, change=1)
        return self._asker.filter(step, state, self._info, view)

    # Scoring and choosing

    def _choose_shared(self) -> Decision:
        """Choose among exactly the rows that the shared answers let pass."""
        combined = self._combined
        if combined.count == 1 or not self._plan.scores:
            return self._placed(self._pick(combined.rows), combined.rows, None)
        if combined.unshared and any(step.score for step in combined.unshared):
            return self._choose(combined.rows)
        combined.refresh_scores(self._info)
        total = combined.total[: self._cluster.row_count]
        row = self._pick(np.flatnonzero(total == total.max()))
        if not self._details:
            return self._placed(row, None, None)
        return self._placed(row, combined.rows, combined.scores_on(combined.rows))

    def _choose(self, rows: NDArray[np.intp]) -> Decision:
        """Choose among rows that are not exactly those of the shared answers."""
        if len(rows) == 1 or not self._plan.scores:
            return self._placed(self._pick(rows), rows, None)
        parts = self._combined.scores_among(self._info, rows)
        view = self._cluster.view_of(rows)
        for step in self._combined.unshared:
            if step.score is None:
                continue
            state = self._states[step]
            if self._asker.pre_score(step, state, self._info, view):
                raw = self._asker.score(step, state, self._info, view)
                scores = self._asker.normalize(step, state, self._info, raw, view)
                parts[step] = scores * step.weight
        total = np.zeros(len(rows), dtype=np.int64)
        for part in parts.values():
            total += part
        return self._placed(self._pick(rows[np.flatnonzero(total == total.max())]), rows, parts)

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
        return {step.place: CycleState(self._state(step)) for step in self._plan.noting}

    # When nothing is left

    def _diagnose(self, nodes: NodesView) -> Diagnosis:
        """Find, in configured order, who refused each node first and why."""
        rows = nodes.rows
        by = np.full(len(rows), -1, dtype=np.int16)
        codes = np.zeros(len(rows), dtype=np.int32)
        considered = None
        if self._names is not None:
            considered = np.zeros(len(rows), dtype=np.bool_)
            considered[nodes.positions(self._names)] = True
        steps = [step for step in self._plan.filters if self._filters(step)]
        # With the pods that are expected first, then without: the first pass that refuses counts.
        for expected in (True, False):
            for index, step in enumerate(steps):
                found = self._codes_of(step, rows, by, considered, expected=expected)
                if found is not None:
                    refused = (by < 0) & (found > 0)
                    by[refused] = index
                    codes[refused] = found[refused]

        def explain(index: int, code: int) -> Verdict:
            step = steps[index]
            return self._asker.explain(step, self._state(step), self._info, code)

        return Diagnosis(
            nodes,
            excluded_by=self._excluded_by,
            considered=considered,
            refusals=Refusals([step.name for step in steps], by, codes, explain),
            rehearse=self._rehearse,
        )

    def _codes_of(
        self,
        step: Step,
        rows: NDArray[np.intp],
        by: NDArray[np.int16],
        considered: NDArray[np.bool_] | None,
        *,
        expected: bool,
    ) -> NDArray[np.int32] | None:
        """Return a plugin's codes (n,) for rows, asking it about those it has not seen."""
        if expected:
            kept = self._expected_codes.get(step)
            return None if kept is None else kept[rows]
        shared = self._combined.answers.get(step)
        if shared is not None:
            return None if shared.codes is None else shared.codes[rows]
        known = self._codes.setdefault(
            step, np.full(self._cluster.columns.capacity, NOT_FEASIBLE, dtype=np.int32)
        )
        left = (by < 0) & (known[rows] == NOT_FEASIBLE)
        if considered is not None:
            left &= considered
        if left.any():
            self._ask_rows(step, rows[left], known)
        return known[rows]

    def _refused(self, diagnosis: Diagnosis) -> Decision:
        """Let the PostFilter plugins try to make room, then report."""
        self.refused_at = self._profile.metrics.clock()
        made_room = None
        if len(diagnosis.nodes):
            post_filters = self._profile.post_filters
            made_room = post_filters.make_room(self._info, diagnosis, self._state)
        code = Code.UNSCHEDULABLE
        if diagnosis.pre_filter is not None:
            code = diagnosis.pre_filter.code
        details = Details([], None) if self._details else None
        return Decision(
            self._info,
            verdict=Verdict(code, (diagnosis.message(),)),
            diagnosis=diagnosis,
            evaluated_count=self._cluster.node_count,
            nomination=None if made_room is None else made_room.node_name,
            made_room=made_room,
            details=details,
        )

    def _rehearse(self, positions: NDArray[np.intp]) -> FilterRun:
        """Begin a dry run of the nodes at positions of the view of all."""
        nodes = self._cluster.view().take(positions)
        states: dict[Step, CycleState] = {}
        known: dict[Step, NDArray[np.int32] | None] = {}
        for step in self._plan.filters:
            shared = self._combined.answers.get(step)
            answer = self._pre_filtered.get(step) if shared is None else shared.pre_filtered
            # Also where it refused before nodes were filtered: with other pods it might not.
            if answer is not None and answer.verdict.code is Code.SKIP:
                continue
            states[step] = self._state(step)
            if shared is not None and answer is not None and answer.verdict.is_success:
                known[step] = None if shared.codes is None else shared.codes[nodes.rows]
        expected = self._expected_among(nodes.rows)
        filters = RowFilters(self._asker, self._info, states, nodes, known)
        return FilterRun.begin(filters, nodes, PodsOnRows.of(self._cluster.columns, expected))


def _no_name_left(named_by: list[str]) -> Verdict:
    if len(named_by) == 1:
        reason = f"node(s) didn't satisfy plugin {named_by[0]}"
    else:
        names = " ".join(sorted(named_by))
        reason = f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
    return Verdict.unresolvable(reason).of(named_by[0])
