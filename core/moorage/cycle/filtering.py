"""Which nodes let a pod pass, and who refused the others.

The plugins that share have answered by row already; here come those that do not, the pods that are
expected on nodes, and the names that PreFilter plugins gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache import ClusterCache, NodesView, PodsOnRows
from moorage.cycle.asking import Asker, PreFiltered
from moorage.cycle.combined import NOT_FEASIBLE, CombinedAnswers
from moorage.cycle.dry_run import FilterRun, RowFilters, looks_at_pods
from moorage.cycle.post_filtering import PostFilters
from moorage.cycle.steps import Plan, Step
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis, Refusals
from moorage.framework.profile import Framework
from moorage.framework.verdict import Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Filtering", "Nominator", "Profile"]

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


class Filtering:
    """One pod and all nodes; `combined` must be up to date.

    Call `pre_filter` first, then `nominated` and `feasible`; `diagnose` when nothing is left.
    """

    def __init__(self, profile: Profile, combined: CombinedAnswers, info: PodInfo) -> None:
        self._profile = profile
        self._plan = profile.plan
        self._asker = profile.asker
        self._cluster = profile.cluster
        self._combined = combined
        self._info = info
        self._states = {step: CycleState() for step in combined.unshared}
        self._pre_filtered: dict[Step, PreFiltered] = {}
        self._codes: dict[Step, NDArray[np.int32]] = {}
        self._expected_codes: dict[Step, NDArray[np.int32]] = {}
        self._names: frozenset[str] | None = None
        self._nominated_row: int | None = None
        self._unasked: frozenset[Step] = frozenset()
        self.excluded_by: frozenset[str] = frozenset()
        """The PreFilter plugins that named nodes."""

    def state(self, step: Step) -> CycleState:
        """Return a plugin's notes on this pod."""
        shared = self._combined.answers.get(step)
        return self._states[step] if shared is None else shared.state

    def state_after_pre_filter(self, step: Step) -> CycleState:
        """Return a plugin's notes on this pod, none where PreFilter ended before it was asked.

        Whoever shares has notes all the same, of which kube-scheduler's plugins know nothing then.
        """
        return CycleState() if step in self._unasked else self.state(step)

    def pre_filter(self, nodes: NodesView) -> Verdict | None:
        """Ask the PreFilter plugins that do not share; return what ends the cycle, if anything."""
        refusal: Verdict | None = None
        names: frozenset[str] | None = None
        named_by: list[str] = []
        for place, step in enumerate(self._plan.pre_filters, start=1):
            shared = self._combined.answers.get(step)
            if shared is None:
                answer = self._asker.pre_filter(step, self._states[step], self._info, nodes)
                self._pre_filtered[step] = answer
            else:
                answer = shared.pre_filtered
            verdict = answer.verdict
            if verdict.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                self._unasked = frozenset(self._plan.pre_filters[place:])
                return verdict
            if verdict.is_rejection:
                refusal = verdict
            if answer.names is not None:
                named_by.append(step.name)
                names = answer.names if names is None else names & answer.names
                if not names:
                    self.excluded_by = frozenset(named_by)
                    self._unasked = frozenset(self._plan.pre_filters[place:])
                    return _no_name_left(named_by)
        self._names = names
        self.excluded_by = frozenset(named_by)
        return refusal

    def nominated(self) -> NDArray[np.intp] | None:
        """Return the row that the pod is nominated to, if it passes: then no other is looked at."""
        pod = self._info.pod
        nominations = self._profile.framework.services.nominations
        if nominations is None:
            name = pod.status.nominated_node_name
        else:
            name = nominations.node_of(pod.metadata.uid)
        # Also where it is none of those that PreFilter plugins named: the other filters judge it.
        row = self._nominated_row = self._cluster.row(name) if name else None
        if row is None or not self._combined.passes[row]:
            return None
        rows = self._passing_all(np.array([row], dtype=np.intp))
        return rows if rows.size else None

    def feasible(self) -> NDArray[np.intp] | None:
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

    def _considered_rows(self) -> list[int]:
        """Return the rows that are filtered where PreFilter plugins named nodes."""
        rows = [self._cluster.row(name) for name in self._names or ()]
        return [row for row in (*rows, self._nominated_row) if row is not None]

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
            asked = asked[np.isin(asked, self._considered_rows())]
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
        state = self._asker.change_pods(step, self.state(step), self._info, view, added, change=1)
        return self._asker.filter(step, state, self._info, view)

    # When nothing is left

    def diagnose(self, nodes: NodesView) -> Diagnosis:
        """Find, in configured order, who refused each node first and why."""
        rows = nodes.rows
        by = np.full(len(rows), -1, dtype=np.int16)
        codes = np.zeros(len(rows), dtype=np.int32)
        considered = None
        if self._names is not None:
            considered = np.isin(rows, self._considered_rows())
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
            return self._asker.explain(step, self.state(step), self._info, code)

        return Diagnosis(
            nodes,
            excluded_by=self.excluded_by,
            considered=considered,
            refusals=Refusals([step.name for step in steps], by, codes, explain),
            rehearse=self.rehearse,
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

    def rehearse(self, positions: NDArray[np.intp]) -> FilterRun:
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
            states[step] = self.state(step)
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
