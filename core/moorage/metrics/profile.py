"""One profile's numbers, looked up once, so that a cycle only appends."""

from __future__ import annotations

from collections.abc import Callable

from moorage.metrics.families import CounterSeries
from moorage.metrics.scheduling import SchedulingMetrics

__all__ = ["ProfileMetrics"]

Observe = Callable[[float], None]
_MOST_ATTEMPTS_TOLD = 15
_SAMPLED_ONE_IN = 10
"""kube-scheduler times the plugins of a tenth of the cycles; here it is every tenth."""


class ProfileMetrics:
    """What happens to the pods of one profile.

    `clock` gives the seconds that durations are made of; where nothing is recorded it stands still.
    """

    def __init__(
        self, families: SchedulingMetrics, profile: str, clock: Callable[[], float]
    ) -> None:
        self.clock = clock
        self.profile = profile
        self._families = families
        self._points: dict[tuple[str, str], Observe] = {}
        self._plugins: dict[tuple[str, str, str], Observe] = {}
        self._cycles = self._gates = 0
        self.is_sampled = False
        """Whether the plugins are timed, each by itself, in the cycle that is going on."""
        self._algorithm = families.algorithm_seconds.series()
        self._lookup = {
            hinted: (
                families.shared_lookup_seconds.series(label, profile).observe,
                families.batch_attempts.series(profile, result),
            )
            for hinted, label, result in (
                (True, "hint", "hint_used"),
                (False, "no_hint", "no_hint"),
            )
        }

    def sample(self) -> bool:
        """Begin a cycle, and say whether its plugins are to be timed, each by itself."""
        self._cycles += 1
        self.is_sampled = not self._cycles % _SAMPLED_ONE_IN
        return self.is_sampled

    def gate_is_sampled(self) -> bool:
        """Say whether the PreEnqueue plugins are to be timed, each by itself, this time."""
        self._gates += 1
        return not self._gates % _SAMPLED_ONE_IN

    def point(self, point: str, seconds: float, status: str = "Success") -> None:
        """Note how long an extension point took, and how it ended."""
        observe = self._points.get((point, status))
        if observe is None:
            series = self._families.point_seconds.series(point, status, self.profile)
            observe = self._points[point, status] = series.observe
        observe(seconds)

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """Note how long one plugin took, in a sampled cycle."""
        key = (plugin, point, status)
        observe = self._plugins.get(key)
        if observe is None:
            observe = self._plugins[key] = self._families.plugin_seconds.series(*key).observe
        observe(seconds)

    def evaluations(self, plugin: str, point: str) -> CounterSeries:
        """Return what counts how often a plugin is asked at a point."""
        return self._families.evaluations.series(plugin, point, self.profile)

    def looked_up(self, seconds: float, *, found: bool) -> None:
        """Note how long it took to find shared answers, and whether there were any."""
        observe, attempts = self._lookup[found]
        observe(seconds)
        attempts.value += 1

    def flushed(self, reason: str) -> None:
        """Note that shared answers were thrown away."""
        self._families.batch_flushed.inc(self.profile, reason)

    def decided(self, seconds: float) -> None:
        """Note how long finding a node took, or finding that there is none."""
        self._algorithm.observe(seconds)

    def attempted(self, result: str, seconds: float) -> None:
        """Note an attempt: result scheduled, unschedulable or error."""
        self._families.attempts.inc(result, self.profile)
        self._families.attempt_seconds.observe(seconds, result, self.profile)

    def scheduled(self, *, attempts: int, since_ready: float, flushed: bool) -> None:
        """Note that a pod is bound, how often it was tried, and how long it took from first to last."""
        families = self._families
        families.pod_attempts.observe(attempts)
        label = f"{_MOST_ATTEMPTS_TOLD}+" if attempts >= _MOST_ATTEMPTS_TOLD else str(attempts)
        families.pod_sli_seconds.observe(since_ready, label)
        if flushed:
            families.scheduled_after_flush.inc()

    def waited(self, seconds: float, *, result: str) -> None:
        """Note how long a pod waited in Permit, and how that ended."""
        self._families.permit_wait_seconds.observe(seconds, result)
