"""What became of one pod, in words and plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.cycle import Decision
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.verdict import Code, Verdict

__all__ = ["Outcome", "outcome_of"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One decision, to be looked at by a test.

    `node`: where the pod goes, None: nowhere. `feasible`: the nodes that passed all filters.
    `verdicts`: for each node that did not, who refused it first in configured order and why;
    `reasons` are their texts. `scores`: by node and plugin, normalised and weighted; empty where
    nothing was scored, since no plugin scores or a single node passed. `message`: what the pod's
    PodScheduled condition says. `code` is Success or why the pod was refused, `plugins` are all
    that refused it (and whose events bring it back), `nominated` the node it is to be tried on later.
    """

    node: str | None
    code: Code = Code.SUCCESS
    message: str = ""
    feasible: frozenset[str] = frozenset()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()
    nominated: str | None = None

    @property
    def reasons(self) -> dict[str, str]:
        """Why each node that did not pass was refused."""
        return {node: verdict.message for node, verdict in self.verdicts.items()}

    @property
    def totals(self) -> dict[str, int]:
        """The sum of the scores of each node; the highest wins."""
        return {node: sum(parts.values()) for node, parts in self.scores.items()}


def outcome_of(decision: Decision, diagnosis: Diagnosis | None) -> Outcome:
    """Turn a decision with details into an outcome; `diagnosis` says why nodes were refused."""
    verdicts = {}
    if diagnosis is not None:
        for position, name in enumerate(diagnosis.nodes.names()):
            verdict = diagnosis.verdict(position)
            if not verdict.is_success:
                verdicts[name] = verdict
    details = decision.details
    refused = decision.diagnosis
    return Outcome(
        node=decision.node_name or None,
        code=decision.verdict.code,
        message="" if decision.node_name else decision.message,
        feasible=frozenset(details.feasible if details else ()),
        verdicts=verdicts,
        scores=dict(details.scores or {}) if details else {},
        plugins=refused.rejecting_plugins | refused.pending_plugins if refused else frozenset(),
        nominated=decision.nomination,
    )
