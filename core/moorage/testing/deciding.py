"""One pod, one decision, as the host would make it for the cluster of a test."""

from __future__ import annotations

from moorage.cycle import Cycle
from moorage.errors import PluginError
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Code
from moorage.model import Pod, PodInfo
from moorage.testing.assembling import Args, Plugins, Profile, make_framework
from moorage.testing.cluster import Cluster
from moorage.testing.outcome import Outcome, outcome_of
from moorage.testing.running import run_to_end

__all__ = ["schedule"]


def schedule(
    cluster: Cluster,
    pod: Pod,
    *,
    plugins: Plugins = None,
    profile: Profile = None,
    args: Args = None,
) -> Outcome:
    """Decide where a pod goes; the cluster stays as it is (see `Cluster.bind`).

    `plugins`: classes, or names of installed plugins, each alone or with its weight: exactly these
    run. `profile`: a configuration (file, YAML text, mapping or ``default``) to run instead, to
    which `plugins` are added; without both, the default profile. `args`: arguments by plugin.

        decision = schedule(Cluster(["n1", "n2"]), make_pod(), plugins=[(ZoneCost, 2)])
        decision.node, decision.reasons["n1"], decision.scores["n2"]["ZoneCost"], decision.message

    Raises PluginError where a plugin cannot be made, or fails; ConfigurationError for the profile.
    """
    framework = make_framework(
        cluster.services(),
        plugins=plugins,
        profile=profile,
        args=args,
        scheduler_name=pod.spec.scheduler_name,
    )
    return run_to_end(_decide(framework, cluster, pod))


async def _decide(framework: Framework, cluster: Cluster, pod: Pod) -> Outcome:
    faults: list[PluginError] = []
    try:
        await framework.start()
        outcome = _outcome(framework, cluster, pod)
    finally:
        await framework.close(faults.append)
    if faults:
        raise faults[0]
    return outcome


def _outcome(framework: Framework, cluster: Cluster, pod: Pod) -> Outcome:
    gate = framework.pre_enqueue(pod)
    if gate.code is Code.ERROR:
        raise PluginError(gate.message)
    if not gate.is_success:
        return Outcome(
            node=None,
            code=gate.code,
            message=gate.message,
            verdicts=dict.fromkeys(cluster.nodes, gate),
            plugins=frozenset({gate.plugin}),
        )
    cycle = Cycle(framework, cluster.cache)
    queued = QueuedPod(PodInfo(pod), timestamp=cluster.clock())
    decision = cycle.decide(queued, details=True)
    if decision.verdict.code is Code.ERROR:
        raise PluginError(decision.message)
    diagnosis = decision.diagnosis
    if diagnosis is None and decision.feasible_count < decision.evaluated_count:
        diagnosis = cycle.diagnose(queued)
    return outcome_of(decision, diagnosis)
