"""Scenarios, step by step: decide, compare, then go on from what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from moorage.cache import ClusterCache
from moorage.cycle import Cycle
from moorage.errors import RecordingError
from moorage.framework.handle import Services
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod, is_finished, pod_key
from moorage.model.quantities import InvalidQuantityError
from moorage.replay.comparing import Difference, differences, refused_only_by
from moorage.replay.devices import allocate, compare_devices, fill_devices
from moorage.replay.recording import Objects, RecordedStep, Recording, Scenario

__all__ = ["Assemble", "Report", "StepReport", "replay"]

Assemble = Callable[[Services, Collection[str]], Mapping[str, Framework]]
"""Makes those profiles of a configuration anew that have these scheduler names, around services."""


class StepReport(NamedTuple):
    """One replayed step. `is_apart`: only plugins that are not installed refused the pod."""

    scenario: str
    step: int
    pod: str
    differences: tuple[Difference, ...]
    is_apart: bool = False


class Report:
    """What a recording came to."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.scenarios = 0
        self.steps: list[StepReport] = []

    @property
    def equal(self) -> int:
        """How many steps are equal."""
        return sum(not step.differences and not step.is_apart for step in self.steps)

    @property
    def differing(self) -> list[StepReport]:
        """The steps that differ."""
        return [step for step in self.steps if step.differences]

    @property
    def apart(self) -> int:
        """How many steps only missing plugins refused."""
        return sum(step.is_apart for step in self.steps)


def replay(recording: Recording, assemble: Assemble, missing: frozenset[str]) -> Report:
    """Replay all scenarios; `missing` are the plugins that are not installed here.

    Raises RecordingError for a file that cannot be read, a pod of a profile that is not there, and
    a quantity that is none.
    """
    report = Report(recording.family)
    for scenario in recording.scenarios():
        report.scenarios += 1
        report.steps.extend(_replay_scenario(scenario, assemble, missing, recording))
    return report


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Say in which recorded object a quantity is wrong: a real API server would have refused it."""
    try:
        yield
    except InvalidQuantityError as error:
        raise RecordingError(f"{place}: {error}") from error


def _replay_scenario(
    scenario: Scenario, assemble: Assemble, missing: frozenset[str], recording: Recording
) -> Iterator[StepReport]:
    services = Services()
    cluster = services.cluster
    place = f"{recording.path}: scenario {scenario.scenario}"
    _fill(cluster, scenario.objects, place)
    names = {step.pod.spec.scheduler_name for step in scenario.steps}
    frameworks = assemble(services, names)
    cycles = {name: Cycle(profile, cluster) for name, profile in frameworks.items()}
    for number, step in enumerate(scenario.steps, start=1):
        pod = _with_uid(step.pod)
        with _placed(f"{place}, step {number}: pod {pod_key(pod)}"):
            info = PodInfo(pod)
        cycle = cycles.get(step.pod.spec.scheduler_name)
        if cycle is None:
            raise RecordingError(
                f"{place}, step {number}: pod {info.key} "
                f"names profile {step.pod.spec.scheduler_name!r}, which the configuration lacks"
            )
        decision = cycle.decide(QueuedPod(info, timestamp=0.0), details=True)
        found = [*differences(step, decision, missing)]
        if not found:
            found += compare_devices(step, decision, scenario.objects)
        if step.then_bound is not None and "DefaultPreemption" not in missing and not found:
            found += _bound_later(services, cycle, step, info)
        is_apart = step.outcome == "unschedulable" and refused_only_by(step, missing)
        shown = () if is_apart else tuple(found)
        yield StepReport(scenario.scenario, number, info.key, shown, is_apart)
        _go_on(services, step, info)


def _fill(cluster: ClusterCache, objects: Objects, place: str) -> None:
    """Put in what was in the cluster before the first pod."""
    for namespace in objects.namespaces:
        cluster.set_namespace(namespace)
    for node in objects.nodes:
        with _placed(f"{place}: node {node.metadata.name}"):
            cluster.set_node(node)
    for workload in objects.workloads:
        cluster.set_workload(workload)
    for item in objects.storage:
        cluster.storage.put(item)
    fill_devices(cluster.devices, objects)
    for budget in objects.poddisruptionbudgets:
        cluster.budgets.put(budget)
    for pod in objects.pods:
        if pod.spec.node_name and not is_finished(pod):
            with _placed(f"{place}: pod {pod_key(pod)}"):
                cluster.add_pod(PodInfo(_with_uid(pod)))


def _bound_later(
    services: Services, cycle: Cycle, step: RecordedStep, info: PodInfo
) -> Iterator[Difference]:
    """Decide once more, with the victims gone and the nomination written."""
    for key in step.victims or ():
        services.cluster.remove_pod(key)
    status = msgspec.structs.replace(info.pod.status, nominated_node_name=step.nominated or "")
    again = PodInfo(msgspec.structs.replace(info.pod, status=status))
    decision = cycle.decide(QueuedPod(again, timestamp=0.0))
    if decision.node_name != step.then_bound:
        yield Difference("then bound", step.then_bound, decision.node_name or decision.message)


def _go_on(services: Services, step: RecordedStep, info: PodInfo) -> None:
    """Bring the cluster to where it was after the recorded step."""
    for key in step.victims or ():
        services.cluster.remove_pod(key)
    for recorded in (step.claims or {}).values():
        services.cluster.storage.put(recorded.claim)
        if recorded.volume is not None:
            services.cluster.storage.put(recorded.volume)
    allocate(services.cluster.devices, step, info.pod)
    node = step.then_bound or step.node
    if node is not None:
        spec = msgspec.structs.replace(info.pod.spec, node_name=node)
        services.cluster.add_pod(PodInfo(msgspec.structs.replace(info.pod, spec=spec)))


def _with_uid(pod: Pod) -> Pod:
    """Give a pod its key as uid: recordings leave uids out, and name victims by key."""
    uid = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
