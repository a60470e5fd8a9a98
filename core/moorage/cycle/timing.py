"""How long the parts of a cycle took, as kube-scheduler's metrics divide it."""

from __future__ import annotations

from moorage.cycle.attempt import Attempt
from moorage.cycle.decision import Decision
from moorage.cycle.filtering import Profile
from moorage.framework.verdict import Code

__all__ = ["CycleTimes"]


class CycleTimes:
    """The times of one cycle; made when it begins.

    Shared answers are filtered and pre-filtered plugin by plugin, so PreFilter is what its hooks
    took, and Filter the rest of the time until it was known which nodes pass. Likewise for scores.
    """

    __slots__ = ("_begun", "_found_at", "_profile")

    def __init__(self, profile: Profile) -> None:
        profile.asker.begin()
        self._profile = profile
        self._begun = self._found_at = profile.metrics.clock()

    def looked_up(self, *, found: bool) -> None:
        """Note that the answers for such pods are at hand, or known not to be."""
        metrics = self._profile.metrics
        self._found_at = metrics.clock()
        metrics.looked_up(self._found_at - self._begun, found=found)

    def decided(self, attempt: Attempt, decision: Decision) -> None:
        """Note how the cycle ended, and record its times."""
        metrics, asker = self._profile.metrics, self._profile.asker
        now = metrics.clock()
        diagnosis = decision.diagnosis
        if diagnosis is not None and diagnosis.pre_filter is not None:
            metrics.point("PreFilter", asker.pre_filter_seconds, diagnosis.pre_filter.code.label)
        else:
            metrics.point("PreFilter", asker.pre_filter_seconds)
            filtering = attempt.filtered_at - self._found_at - asker.pre_filter_seconds
            refused = diagnosis is not None
            metrics.point("Filter", filtering, _UNSCHEDULABLE if refused else _SUCCESS)
        if diagnosis is not None:
            if self._profile.framework.points["post_filter"]:
                status = _SUCCESS if decision.nomination else _UNSCHEDULABLE
                metrics.point("PostFilter", now - attempt.refused_at, status)
            return
        metrics.decided(now - self._begun)
        if decision.feasible_count > 1 and self._profile.plan.scores:
            metrics.point("PreScore", asker.pre_score_seconds)
            metrics.point("Score", now - attempt.filtered_at - asker.pre_score_seconds)


_SUCCESS, _UNSCHEDULABLE = Code.SUCCESS.label, Code.UNSCHEDULABLE.label
