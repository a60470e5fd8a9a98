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
        """Note how the cycle ended, and record its times; without nodes nobody was asked."""
        metrics, asker = self._profile.metrics, self._profile.asker
        now = metrics.clock()
        metrics.decided(now - self._begun)
        diagnosis = decision.diagnosis
        if diagnosis is not None and not len(diagnosis.nodes):
            return
        if diagnosis is not None and diagnosis.pre_filter is not None:
            metrics.point("PreFilter", asker.pre_filter_seconds, diagnosis.pre_filter.code.label)
        else:
            self._filtered(attempt.filtered_at)
        if diagnosis is not None:
            if attempt.post_filter_code is not None:
                status = attempt.post_filter_code.label
                metrics.point("PostFilter", now - attempt.refused_at, status)
        elif decision.feasible_count > 1 and self._profile.plan.scores:
            metrics.point("PreScore", asker.pre_score_seconds)
            metrics.point("Score", now - attempt.filtered_at - asker.pre_score_seconds)

    def failed(self, attempt: Attempt | None) -> None:
        """Note that a plugin failed, and where: the hook that was asked last tells."""
        metrics, asker = self._profile.metrics, self._profile.asker
        now, hook = metrics.clock(), self._profile.framework.services.activity.hook
        metrics.decided(now - self._begun)
        if attempt is not None and attempt.refused_at:
            self._filtered(attempt.filtered_at)
            metrics.point("PostFilter", now - attempt.refused_at, _ERROR)
        elif hook == "pre_filter":
            metrics.point("PreFilter", now - self._found_at, _ERROR)
        elif hook in _FILTERING:
            self._filtered(now, _ERROR)
        elif attempt is not None and attempt.filtered_at:
            self._filtered(attempt.filtered_at)
            seconds = now - attempt.filtered_at
            if hook == "pre_score":
                metrics.point("PreScore", seconds, _ERROR)
                return
            metrics.point("PreScore", asker.pre_score_seconds)
            metrics.point("Score", seconds - asker.pre_score_seconds, _ERROR)

    def _filtered(self, at: float, status: str = Code.SUCCESS.label) -> None:
        """Record PreFilter, and Filter: a success, whether or not a node passes."""
        metrics, pre_filter = self._profile.metrics, self._profile.asker.pre_filter_seconds
        metrics.point("PreFilter", pre_filter)
        metrics.point("Filter", at - self._found_at - pre_filter, status)


_ERROR = Code.ERROR.label
_FILTERING = frozenset({"filter", "filter_nodes", "explain", "add_pods"})
