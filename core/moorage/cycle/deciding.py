"""The scheduling cycle of one profile: filter, score, choose."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache, NodesView
from moorage.cycle.answers import PluginAnswers
from moorage.cycle.asking import Asker, PreFiltered
from moorage.cycle.combined import NOT_FEASIBLE, CombinedAnswers
from moorage.cycle.decision import Decision, Details
from moorage.cycle.steps import Plan, Step
from moorage.errors import PluginError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis, Refusals
from moorage.framework.nomination import Nomination
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Cycle", "Nominator"]

_BUDGET = 64 * 1024 * 1024
"""Bytes of kept answers per profile: about 250 signatures at 5,000 nodes."""
_FEWEST_SAMPLED = 100
_CHUNK = 128


class Nominator(Protocol):
    """Whom the cycle must expect on nodes, beside the pods that are there."""

    def at_least(self, priority: int, *, besides: str) -> Mapping[str, Sequence[PodInfo]]:
        """Return the nominated pods of a priority or higher, by node; `besides` a pod's uid."""
        ...


class Cycle:
    """Decides for one profile's pods, one at a time, against the cluster as it is in the cache."""

    def __init__(
        self,
        framework: Framework,
        cluster: ClusterCache,
        *,
        nominator: Nominator | None = None,
        budget: int = _BUDGET,
    ) -> None:
        self._framework = framework
        self._cluster = cluster
        self._nominator = nominator
        self._generator = framework.services.generator
        self._plan = Plan(framework)
        self._asker = Asker(framework)
        self._budget = budget
        self._answers: dict[tuple[Step, Hashable], PluginAnswers] = {}
        self._combined: OrderedDict[Hashable, CombinedAnswers] = OrderedDict()
        self._next_start = 0

    def decide(self, queued: QueuedPod, *, details: bool = False) -> Decision:
        """Choose a node for a pod, or say why there is none; never raises for a plugin's fault.

        `details` asks for the names of the nodes that passed and all their scores.
        """
        try:
            return _Attempt(self, queued, details=details).run()
        except PluginError as error:
            # What was kept for this pod may be half done.
            self._forget(queued.signature)
            return Decision(queued.info, verdict=Verdict.error(str(error)))

    # What pods share

    def combined(self, queued: QueuedPod) -> CombinedAnswers:
        """Return the answers of all sharing plugins for a pod, filters up to date."""
        if queued.signature is None:
            queued.signature = tuple(
                self._asker.sign(sign, queued.info) for sign in self._plan.signs
            )
        combined = self._combined.get(queued.signature)
        if combined is None:
            combined = self._combine(queued)
            combined.refresh_filters(queued.info)
            if None not in self._fragments(queued):
                self._combined[queued.signature] = combined
                self._make_room()
        else:
            self._combined.move_to_end(queued.signature)
            combined.refresh_filters(queued.info)
        return combined

    @property
    def kept_bytes(self) -> int:
        """Bytes held in kept answers."""
        return sum(entry.nbytes for entry in (*self._answers.values(), *self._combined.values()))

    def _fragments(self, queued: QueuedPod) -> tuple[Hashable, ...]:
        assert isinstance(queued.signature, tuple)  # noqa: S101 - made above
        return queued.signature

    def _combine(self, queued: QueuedPod) -> CombinedAnswers:
        answers: dict[Step, PluginAnswers] = {}
        for step, fragment in zip(self._plan.shared, self._fragments(queued), strict=True):
            key = (step, fragment)
            entry = self._answers.get(key)
            if entry is None:
                entry = PluginAnswers(step, self._asker, self._cluster)
                if fragment is not None:
                    self._answers[key] = entry
            answers[step] = entry
        return CombinedAnswers(self._plan, self._asker, self._cluster, answers)

    def _forget(self, signature: Hashable) -> None:
        combined = self._combined.pop(signature, None)
        if isinstance(signature, tuple):
            for step, fragment in zip(self._plan.shared, signature, strict=True):
                self._answers.pop((step, fragment), None)
        del combined

    def _make_room(self) -> None:
        """Drop the answers used longest ago until the rest fits the budget."""
        # Sizes grow by capacity only; an estimate by the newest entry keeps this O(1) a cycle.
        size = self._cluster.columns.capacity * (9 + 8 * len(self._plan.scores))
        room = max(1, self._budget // max(1, size))
        while len(self._combined) > room:
            self._combined.popitem(last=False)
        if len(self._answers) > room * max(1, len(self._plan.shared)):
            used = {
                (entry.step, fragment)
                for signature, combined in self._combined.items()
                for entry, fragment in zip(
                    combined.answers.values(),
                    signature,
                    strict=True,  # type: ignore[call-overload]
                )
            }
            self._answers = {key: entry for key, entry in self._answers.items() if key in used}


class _Attempt:
    """One pod's way through the cycle."""

    def __init__(self, cycle: Cycle, queued: QueuedPod, *, details: bool) -> None:
        self._cycle = cycle
        self._plan: Plan = cycle._plan
        self._asker: Asker = cycle._asker
        self._cluster: ClusterCache = cycle._cluster
        self._queued = queued
        self._info = queued.info
        self._details = details
        self._states: dict[Step, CycleState] = {}
        self._pre_filtered: dict[Step, PreFiltered] = {}
        self._codes: dict[Step, NDArray[np.int32]] = {}
        self._excluded_by: frozenset[str] = frozenset()

    def run(self) -> Decision:
        """Filter, score, choose."""
        nodes = self._cluster.view()
        self._combined = self._cycle.combined(self._queued)
        for step, entry in self._combined.answers.items():
            self._states[step] = entry.state
            self._pre_filtered[step] = entry.pre_filtered
        for step in self._plan.unshared:
            self._states[step] = CycleState()
        refusal = self._pre_filter(nodes)
        if refusal is not None:
            return self._refused(Diagnosis(nodes, pre_filter=refusal))
        rows = self._feasible(nodes)
        if rows is None:
            return self._choose_shared()
        if not rows.size:
            return self._refused(self._diagnose(nodes))
        return self._choose(rows)

    # Filtering

    def _pre_filter(self, nodes: NodesView) -> Verdict | None:
        """Ask the PreFilter plugins that do not share; return what ends the cycle, if anything."""
        refusal: Verdict | None = None
        names: frozenset[str] | None = None
        named_by: list[str] = []
        for step in self._plan.pre_filters:
            if not step.is_shared:
                self._pre_filtered[step] = self._asker.pre_filter(
                    step, self._states[step], self._info, nodes
                )
            answer = self._pre_filtered[step]
            verdict = answer.verdict
            if verdict.code is Code.ERROR:
                raise PluginError(verdict.message)
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

    def _feasible(self, nodes: NodesView) -> NDArray[np.intp] | None:
        """Return the rows that pass; None: exactly those of the shared answers."""
        combined = self._combined
        rows: NDArray[np.intp] | None = None
        if self._names is not None:
            named = {row for name in self._names if (row := self._cluster.row(name)) is not None}
            rows = np.array(sorted(named), dtype=np.intp)
            rows = rows[combined.passes[rows]]
        self._expected = self._expected_pods()
        singly = [step for step in self._plan.unshared if self._filters(step)]
        if rows is None and not singly and not self._expected:
            return None if combined.count else np.empty(0, dtype=np.intp)
        if rows is None:
            rows = np.flatnonzero(combined.passes)
        if self._expected:
            rows = self._pass_with_expected(rows)
        for step in singly:
            rows = self._ask_unshared(step, rows)
        return rows

    def _filters(self, step: Step) -> bool:
        answer = self._pre_filtered.get(step)
        return step.filter is not None and (answer is None or answer.verdict.is_success)

    def _ask_unshared(self, step: Step, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Ask a plugin that does not share about rows that are left; notes its codes by row."""
        limit = self._sample_size() if step.takes_nodes_singly else len(rows)
        known = self._codes.setdefault(
            step, np.full(self._cluster.columns.capacity, NOT_FEASIBLE, dtype=np.int32)
        )
        if limit >= len(rows):
            return rows[self._ask_rows(step, rows, known)]
        start = self._cycle._next_start % max(1, len(rows))
        order = np.concatenate([rows[start:], rows[:start]])
        found: list[NDArray[np.intp]] = []
        asked = 0
        while asked < len(order) and sum(map(len, found)) < limit:
            chunk = order[asked : asked + _CHUNK]
            found.append(chunk[self._ask_rows(step, chunk, known)])
            asked += len(chunk)
        self._cycle._next_start += asked
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
        percentage = self._cycle._framework.percentage_of_nodes_to_score
        if not 0 < percentage < 100:  # noqa: PLR2004 - percent
            return count
        return max(_FEWEST_SAMPLED, count * percentage // 100)

    # Pods that are expected on nodes

    def _expected_pods(self) -> dict[int, Sequence[PodInfo]]:
        nominator = self._cycle._nominator
        if nominator is None:
            return {}
        expected = nominator.at_least(self._info.priority, besides=self._info.uid)
        return {
            row: pods
            for name, pods in expected.items()
            if (row := self._cluster.row(name)) is not None and pods
        }

    def _pass_with_expected(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Leave out rows that do not pass with the expected pods added; both ways must agree."""
        asked = rows[np.isin(rows, list(self._expected))]
        if not asked.size:
            return rows
        added = [
            (position, pod)
            for position, row in enumerate(asked.tolist())
            for pod in self._expected[row]
        ]
        view = self._cluster.view_of(asked).overlay(added=added)
        self._expected_codes: dict[Step, NDArray[np.int32]] = {}
        passes = np.ones(len(asked), dtype=np.bool_)
        for step in self._plan.filters:
            if self._filters(step):
                state = self._asker.add_pods(step, self._states[step], self._info, view, added)
                codes = self._asker.filter(step, state, self._info, view)
                if codes is not None:
                    by_row = np.zeros(self._cluster.columns.capacity, dtype=np.int32)
                    by_row[asked] = codes
                    self._expected_codes[step] = by_row
                    passes &= codes == 0
        return rows[~np.isin(rows, asked[~passes])]

    # Scoring and choosing

    def _choose_shared(self) -> Decision:
        """Choose among exactly the rows that the shared answers let pass."""
        combined = self._combined
        scored = combined.count > 1 and bool(self._plan.scores)
        if any(step.score for step in self._plan.unshared) and scored:
            return self._choose(np.flatnonzero(combined.passes))
        if not scored:
            row = self._pick(np.flatnonzero(combined.passes))
            return self._placed(row, combined.count, None)
        combined.refresh_scores(self._info)
        total = combined.total
        row = self._pick(np.flatnonzero(total == total.max()))
        return self._placed(row, combined.count, combined.parts)

    def _choose(self, rows: NDArray[np.intp]) -> Decision:
        """Choose among rows that are not exactly those of the shared answers."""
        if len(rows) == 1 or not self._plan.scores:
            return self._placed(self._pick(rows), len(rows), None, rows=rows)
        parts = self._combined.totals_on(self._info, rows)
        view = self._cluster.view_of(rows)
        for step in self._plan.unshared:
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
        row = self._pick(rows[np.flatnonzero(total == total.max())])
        return self._placed(row, len(rows), parts, rows=rows)

    def _pick(self, best: NDArray[np.intp]) -> int:
        if len(best) == 1:
            return int(best[0])
        return int(best[self._cycle._generator.integers(len(best))])

    def _placed(
        self,
        row: int,
        count: int,
        parts: Mapping[Step, NDArray[np.int64]] | None,
        *,
        rows: NDArray[np.intp] | None = None,
    ) -> Decision:
        details = None
        if self._details:
            feasible = np.flatnonzero(self._combined.passes) if rows is None else rows
            names = [self._cluster.name(index) for index in feasible.tolist()]
            shown = (
                None
                if parts is None
                else {
                    step.name: part if rows is not None else part[feasible]
                    for step, part in parts.items()
                }
            )
            details = Details.of(names, shown)
        return Decision(
            self._info,
            row=row,
            node_name=self._cluster.name(row),
            feasible_count=count,
            evaluated_count=self._cluster.node_count,
            states=self._notes(),
            details=details,
        )

    def _notes(self) -> dict[int, CycleState]:
        """Give the pod its own copy of what plugins noted."""
        return {
            step.place: CycleState(state) if step.is_shared else state
            for step, state in self._states.items()
            if state
        }

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
            return self._asker.explain(step, self._states[step], self._info, code)

        return Diagnosis(
            nodes,
            excluded_by=self._excluded_by,
            considered=considered,
            refusals=Refusals([step.name for step in steps], by, codes, explain),
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
            kept = self._expected_codes.get(step) if self._expected else None
            return None if kept is None else kept[rows]
        if step.is_shared:
            shared = self._combined.answers[step].codes
            return None if shared is None else shared[rows]
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
        nomination = self._post_filter(diagnosis) if len(diagnosis.nodes) else None
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
            details=details,
        )

    def _post_filter(self, diagnosis: Diagnosis) -> str | None:
        framework = self._cycle._framework
        said: list[str] = []
        nomination: str | None = None
        for hook in framework.points["post_filter"]:
            state = self._state_at(hook.place)
            try:
                answer: Any = hook.call(state, self._info.pod, self._info, diagnosis)
                if isinstance(answer, Nomination):
                    nomination = answer.node_name
                    break
                verdict = framework.check_verdict(hook, answer)
            except Exception as error:
                raise framework.fault(hook, error) from error
            if verdict.code is Code.ERROR:
                raise PluginError(verdict.message)
            said.extend(verdict.reasons)
        diagnosis.post_filter = ", ".join(said)
        return nomination

    def _state_at(self, place: int) -> CycleState:
        for step, state in self._states.items():
            if step.place == place:
                return CycleState(state) if step.is_shared else state
        return CycleState()


def _no_name_left(named_by: list[str]) -> Verdict:
    if len(named_by) == 1:
        reason = f"node(s) didn't satisfy plugin {named_by[0]}"
    else:
        names = " ".join(sorted(named_by))
        reason = f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
    return Verdict.unresolvable(reason).of(named_by[0])
