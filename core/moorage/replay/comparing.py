"""Where our decision differs from a recorded one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from moorage.cycle import Decision
from moorage.replay.recording import RecordedStep

__all__ = ["Difference", "differences", "refused_only_by", "refused_only_by_plugins"]

_REASONS_OF = {
    "PodTopologySpread": ("node(s) didn't match pod topology spread constraints",),
    "InterPodAffinity": (
        "node(s) didn't match pod affinity rules",
        "node(s) didn't match pod anti-affinity rules",
        "node(s) didn't satisfy existing pods anti-affinity rules",
    ),
    "VolumeBinding": (
        "node(s) did not have enough free storage",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        "persistentvolumeclaim ",
        "pod has unbound immediate PersistentVolumeClaims",
    ),
    "VolumeRestrictions": (
        "node(s) had no available disk",
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode",
    ),
    "VolumeZone": ("node(s) had no available volume zone",),
    "NodeVolumeLimits": ("node(s) exceed max volume count",),
    "DynamicResources": (
        "cannot allocate all claims",
        "cannot schedule extended resource claim",
        "could not find ResourceClaim ",
        "invalid resource pools were encountered",
        "request ",
        "resource claim ",
        "resourceclaim ",
        "waiting for resource",
    ),
}
"""How the reasons begin that kube-scheduler's other plugins give: whose a recorded reason is."""


_WITHOUT_CLAIMS = re.compile(r"\. (no new claims to deallocate|still not schedulable), ")
"""What the PostFilter of DynamicResources says before that of DefaultPreemption."""


class Difference(NamedTuple):
    """One thing in which a step differs; `node` and `plugin` are empty where it is about neither."""

    what: str
    expected: object
    got: object
    node: str = ""
    plugin: str = ""


def differences(
    recorded: RecordedStep, decision: Decision, missing: frozenset[str]
) -> list[Difference]:
    """List the differences; plugins that are `missing` here are left out of the comparison."""
    outcome = "bound" if decision.node_name else "unschedulable"
    if decision.diagnosis is None and not decision.node_name:
        return [Difference("outcome", recorded.outcome, f"error: {decision.message}")]
    if outcome != recorded.outcome:
        got = outcome if decision.node_name else f"{outcome}: {decision.message}"
        expected = f"{recorded.outcome}: {recorded.message}" if recorded.message else "bound"
        return [Difference("outcome", expected, got)]
    if recorded.outcome == "unschedulable":
        found = list(_messages(recorded, decision, missing))
        if "DefaultPreemption" not in missing:
            found += _preemption(recorded, decision)
        return found
    return [
        *_feasible(recorded, decision),
        *_scores(recorded, decision, missing),
    ]


def refused_only_by(recorded: RecordedStep, missing: frozenset[str]) -> bool:
    """Say whether all reasons recorded for a refused pod come from plugins that are missing."""
    return refused_only_by_plugins(recorded.message, missing)


def refused_only_by_plugins(message: str, plugins: frozenset[str]) -> bool:
    """Say whether all reasons in a message come from some of these plugins."""
    reasons = _reasons(message)
    return bool(reasons) and all(
        any(
            reason.startswith(beginning)
            for plugin in plugins
            for beginning in _REASONS_OF.get(plugin, ())
        )
        for reason in reasons
    )


def _messages(
    recorded: RecordedStep, decision: Decision, missing: frozenset[str]
) -> Iterator[Difference]:
    expected, got = recorded.message, decision.message
    if "DynamicResources" in missing:
        expected = _WITHOUT_CLAIMS.sub(". ", expected)
    if "DefaultPreemption" in missing or (
        "DynamicResources" in missing and ". preemption: " not in expected
    ):
        # What PostFilter said stands behind the reasons; a fault in it keeps others from saying more.
        expected = _without_post_filter(expected)
        got = _without_post_filter(got)
    if expected != got:
        yield Difference("message", expected, got)


def _preemption(recorded: RecordedStep, decision: Decision) -> Iterator[Difference]:
    """Compare node and victims; where several nodes cost the same, any of them is right."""
    made_room = decision.made_room
    chosen = [] if made_room is None else [made_room, *made_room.equals()]
    by_node = {nomination.node_name: nomination for nomination in chosen if nomination.node_name}
    if recorded.nominated is None and not by_node:
        return
    right = by_node.get(recorded.nominated or "")
    if right is None:
        yield Difference("nominated", recorded.nominated, sorted(by_node) or None)
        return
    victims = sorted(info.key for info in right.victims)
    expected = sorted(recorded.victims or ())
    if victims != expected:
        yield Difference("victims", expected, victims, node=right.node_name)


def _feasible(recorded: RecordedStep, decision: Decision) -> Iterator[Difference]:
    assert decision.details is not None  # noqa: S101 - a replay asks for details
    feasible = sorted(decision.details.feasible)
    if isinstance(recorded.feasible, list):
        for name in sorted(set(recorded.feasible) ^ set(feasible)):
            passed = name in recorded.feasible
            yield Difference("feasible", passed, not passed, node=name)
    elif recorded.feasible is not None and recorded.feasible != len(feasible):
        yield Difference("feasible", recorded.feasible, len(feasible))


def _scores(
    recorded: RecordedStep, decision: Decision, missing: frozenset[str]
) -> Iterator[Difference]:
    assert decision.details is not None  # noqa: S101 - a replay asks for details
    if recorded.scores is None or decision.details.scores is None:
        if recorded.scores is not None and len(decision.details.feasible) > 1:
            yield Difference("scores", "scores", "none")
        return
    best: dict[str, int] = {}
    for node, expected in recorded.scores.items():
        got = decision.details.scores.get(node, {})
        for plugin in sorted((expected.keys() | got.keys()) - missing):
            if expected.get(plugin) != got.get(plugin):
                yield Difference("score", expected.get(plugin), got.get(plugin), node, plugin)
        left_out = sum(score for plugin, score in expected.items() if plugin in missing)
        total = (recorded.total or {}).get(node, sum(expected.values()))
        best[node] = sum(got.values()) + left_out
        if total != best[node]:
            yield Difference("total", total, best[node], node)
    if recorded.node is not None and best.get(recorded.node) != max(best.values()):
        yield Difference("choice", f"{recorded.node} among the best", best)


def _without_post_filter(message: str) -> str:
    """Cut a message after the reasons, which end with the first full stop before a space."""
    head, stop, _ = message.partition(". ")
    return f"{head}." if stop else message


def _reasons(message: str) -> list[str]:
    """Return the reasons of a message without their counts."""
    head = _without_post_filter(message).removesuffix(".")
    _, found, listed = head.partition("available: ")
    return [re.sub(r"^\d+ ", "", reason) for reason in (listed if found else head).split(", ")]
