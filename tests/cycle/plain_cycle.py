"""The cycle as one would explain it: every plugin asked about every node, one node at a time.

Nothing is kept or shared, so this is what the real cycle must come to. It asks through the public
hooks of a framework, with views of one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import moorage
from moorage.cache import ClusterCache, NodesView
from moorage.framework.profile import Framework, Hook

__all__ = ["Outcome", "plain_cycle"]


@dataclass
class Outcome:
    """Verdicts by node, the weighted scores of those that passed, and what PreFilter said."""

    refusals: dict[str, moorage.Verdict] = field(default_factory=dict)
    feasible: list[str] = field(default_factory=list)
    scores: dict[str, dict[str, int]] | None = None
    pre_filter: moorage.Verdict | None = None
    considered: frozenset[str] | None = None

    @property
    def best(self) -> set[str]:
        """The nodes among which chance decides."""
        if self.scores is None:
            return set(self.feasible)
        totals = {name: sum(parts.values()) for name, parts in self.scores.items()}
        return {name for name, total in totals.items() if total == max(totals.values())}


def plain_cycle(
    framework: Framework,
    cluster: ClusterCache,
    info: moorage.PodInfo,
    expected: Mapping[str, Sequence[moorage.PodInfo]],
) -> Outcome:
    """Decide for one pod; `expected` are the nominated pods to make room for, by node."""
    attempt = _Attempt(framework, cluster, info)
    outcome = Outcome()
    if not attempt.pre_filter(outcome):
        return outcome
    for position in range(len(attempt.nodes)):
        name = attempt.nodes.name(position)
        if outcome.considered is not None and name not in outcome.considered:
            continue
        refusal = attempt.refusal(position, expected.get(name, ()))
        if refusal is None:
            outcome.feasible.append(name)
        else:
            outcome.refusals[name] = refusal
    if len(outcome.feasible) > 1 and framework.points["score"]:
        outcome.scores = attempt.scores(outcome.feasible)
    return outcome


class _Attempt:
    def __init__(self, framework: Framework, cluster: ClusterCache, info: moorage.PodInfo) -> None:
        self.framework = framework
        self.cluster = cluster
        self.info = info
        self.nodes: NodesView = cluster.view()
        self.states = {plugin.name: moorage.CycleState() for plugin in framework.plugins}
        self.skipped: set[str] = set()

    def pre_filter(self, outcome: Outcome) -> bool:
        """Ask the PreFilter plugins; False where the pod is refused on all nodes."""
        names: frozenset[str] | None = None
        named_by: list[str] = []
        for hook in self.framework.points["pre_filter"]:
            answer = self.ask(hook, self.nodes)
            if isinstance(answer, moorage.Verdict):
                if answer.code is moorage.Code.SKIP:
                    self.skipped.add(hook.plugin)
                elif not answer.is_success:
                    outcome.pre_filter = answer.of(hook.plugin)
                    if answer.code is moorage.Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                        return False
            elif answer is not None:
                named_by.append(hook.plugin)
                names = frozenset(answer) if names is None else names & frozenset(answer)
                if not names:
                    which = f"plugin {named_by[0]}"
                    if len(named_by) > 1:
                        which = f"plugin(s) [{' '.join(sorted(named_by))}] simultaneously"
                    reason = f"node(s) didn't satisfy {which}"
                    outcome.pre_filter = moorage.Verdict.unresolvable(reason)
                    return False
        outcome.considered = names
        return outcome.pre_filter is None

    def refusal(self, position: int, expected: Sequence[moorage.PodInfo]) -> moorage.Verdict | None:
        """Return the first refusal of a node: with the expected pods, then without them."""
        row = self.nodes.take(np.array([position]))
        if expected:
            with_them = row.overlay(added=[(0, pod) for pod in expected])
            refused = self._refusal(with_them, expected)
            if refused is not None:
                return refused
        return self._refusal(row, ())

    def _refusal(
        self, row: NodesView, expected: Sequence[moorage.PodInfo]
    ) -> moorage.Verdict | None:
        for hook in self.framework.points["filter"]:
            if hook.plugin in self.skipped:
                continue
            state = self.states[hook.plugin]
            add = self.framework.hook(hook.plugin, "add_pods")
            if expected and add is not None:
                state = state.clone()
                positions = np.zeros(len(expected), dtype=np.intp)
                add.call(state, self.info.pod, row, positions, expected)
            verdict = self._filter(hook, state, row)
            if verdict is not None:
                return verdict.of(hook.plugin)
        return None

    def _filter(
        self, hook: Hook, state: moorage.CycleState, row: NodesView
    ) -> moorage.Verdict | None:
        if hook.name == "filter":
            verdict: moorage.Verdict | None = hook.call(
                state, self.info.pod, self.info, moorage.NodeInfo(row, 0)
            )
            return verdict
        codes = hook.call(state, self.info.pod, self.info, row)
        if codes is None:
            return None
        code = int(not codes[0]) if codes.dtype == np.bool_ else int(codes[0])
        if not code:
            return None
        explain = self.framework.hook(hook.plugin, "explain")
        if explain is None:
            reason = f"node(s) didn't satisfy plugin {hook.plugin}"
            return moorage.Verdict.unschedulable(reason)
        explained: moorage.Verdict = explain.call(state, self.info.pod, code)
        return explained

    def scores(self, feasible: Sequence[str]) -> dict[str, dict[str, int]]:
        """Score the nodes that passed: each alone, then normalised together."""
        found: dict[str, dict[str, int]] = {name: {} for name in feasible}
        passed = self.cluster.view_of(self._rows(feasible))
        pre_scores = {hook.plugin: hook for hook in self.framework.points["pre_score"]}
        for hook in self.framework.points["score"]:
            pre_score = pre_scores.get(hook.plugin)
            if pre_score is not None:
                answer = self.ask(pre_score, passed)
                if answer is not None and answer.code is moorage.Code.SKIP:
                    continue
            answers = [self._score(hook, name) for name in feasible]
            is_final = hook.name == "score_nodes" and isinstance(answers[0], int)
            raw = np.array(answers)
            normalize = self.framework.hook(hook.plugin, "normalize_scores")
            if normalize is not None and not is_final:
                state = self.states[hook.plugin]
                raw = normalize.call(state, self.info.pod, raw, passed)
            for name, score in zip(feasible, raw.tolist(), strict=True):
                found[name][hook.plugin] = score * hook.weight
        return found

    def _score(self, hook: Hook, name: str) -> Any:  # noqa: ANN401 - an integer or a float
        row = self.cluster.view_of(self._rows([name]))
        if hook.name == "score":
            node = moorage.NodeInfo(row, 0)
            return hook.call(self.states[hook.plugin], self.info.pod, self.info, node)
        answer = self.ask(hook, row)
        return answer if isinstance(answer, int) else answer[0]

    def _rows(self, names: Sequence[str]) -> Any:  # noqa: ANN401 - an array of rows
        rows = [self.cluster.row(name) for name in names]
        return np.array(rows, dtype=np.intp)

    def ask(self, hook: Hook, nodes: NodesView) -> Any:  # noqa: ANN401 - what the hook answers
        """Call a hook that takes state, pod, info and nodes."""
        return hook.call(self.states[hook.plugin], self.info.pod, self.info, nodes)
