"""The scheduling cycle of one profile: decide for one pod after another."""

from __future__ import annotations

from moorage.cache import ClusterCache
from moorage.cycle.asking import Asker
from moorage.cycle.attempt import Attempt
from moorage.cycle.decision import Decision
from moorage.cycle.filtering import Nominator, Profile
from moorage.cycle.kept import KeptAnswers
from moorage.cycle.steps import Plan
from moorage.cycle.timing import CycleTimes
from moorage.errors import PluginError
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Verdict

__all__ = ["Cycle"]

_BUDGET = 64 * 1024 * 1024
"""Bytes of kept answers per profile: several hundred signatures at 5,000 nodes."""


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
        plan, asker = Plan(framework), Asker(framework)
        self._kept = KeptAnswers(plan, asker, cluster, budget)
        self._profile = Profile(framework, cluster, plan, asker, nominator)

    def decide(self, queued: QueuedPod, *, details: bool = False) -> Decision:
        """Choose a node for a pod, or say why there is none; never raises for a plugin's fault.

        `details` asks for the names of the nodes that passed and all their scores.
        """
        times = CycleTimes(self._profile)
        attempt: Attempt | None = None
        try:
            combined = self._kept.combined(queued.info)
            times.looked_up(found=self._kept.found)
            combined.refresh_filters(queued.info)
            attempt = Attempt(self._profile, combined, queued.info, details=details)
            decision = attempt.run()
        except PluginError as error:
            # What was kept for this pod may be half done.
            self._kept.forget()
            self._profile.metrics.flushed("pod_failed")
            times.failed(attempt)
            return Decision(queued.info, verdict=Verdict.error(str(error)), nomination="")
        times.decided(attempt, decision)
        return decision

    def diagnose(self, queued: QueuedPod) -> Diagnosis:
        """Say for each node who refuses a pod and why, also where other nodes pass.

        Asks the plugins once more; for people, not for the loop. Raises PluginError.
        """
        combined = self._kept.combined(queued.info)
        combined.refresh_filters(queued.info)
        return Attempt(self._profile, combined, queued.info, details=True).diagnose()

    @property
    def kept_bytes(self) -> int:
        """Bytes held in kept answers."""
        return self._kept.nbytes
