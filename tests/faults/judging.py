"""What must hold when the faults are over and everything has been heard."""

from __future__ import annotations

from collections import Counter

import msgspec
from tests.faults.simulated_api import SimulatedApi
from tests.faults.simulated_scheduler import Scheduler

from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.model.quantities import parse_value
from moorage.queueing import Place

__all__ = ["check_everything", "overfilled", "used", "would_fit"]


def cpu_of(pod: Pod) -> int:
    """Return a pod's cpu in whole units."""
    return int(parse_value(pod.spec.containers[0].resources.requests["cpu"]))


def used(api: SimulatedApi) -> Counter[str]:
    """Count the cpu in use by node."""
    total: Counter[str] = Counter()
    for pod in api.pods.values():
        total[pod.spec.node_name] += cpu_of(pod)
    return total


def overfilled(api: SimulatedApi) -> dict[str, int]:
    """Return by how much nodes are over their allocatable."""
    return {
        name: over
        for name, amount in used(api).items()
        if name in api.nodes
        and (over := amount - int(parse_value(api.nodes[name].status.allocatable["cpu"]))) > 0
    }


def would_fit(api: SimulatedApi, pod: Pod) -> list[str]:
    """Return the nodes that could take a pod, by a plain look at everything.

    Room that is kept for others, who are expected on a node, is not there.
    """
    taken = used(api)
    for other in api.pods.values():
        expected = other.status.nominated_node_name
        if other is not pod and expected and not other.spec.node_name:
            taken[expected] += cpu_of(other)

    def takes(node: Node) -> bool:
        free = int(parse_value(node.status.allocatable["cpu"])) - taken[node.metadata.name]
        labels = node.metadata.labels
        return (
            not node.spec.unschedulable
            and all(labels.get(key) == value for key, value in pod.spec.node_selector.items())
            and cpu_of(pod) <= free
        )

    return [node.metadata.name for node in api.nodes.values() if takes(node)]


def check_everything(scheduler: Scheduler) -> None:
    """Assert that no pod is lost, none bound twice, and that the cache is the API's state."""
    api, session = scheduler.api, scheduler.session
    session.cluster.check_invariants()
    session.queue.check_invariants()
    assert max(api.bindings.values(), default=0) <= 1, "a pod was bound twice"
    assert not session.cluster.assumed_count, "a pod is assumed for ever"
    assert not len(session.services.waiting), "a pod waits in Permit for ever"
    assert not scheduler.flushed, f"only the long timeout helped {scheduler.flushed}"
    _check_cache(scheduler)
    waiting = {uid for uid, pod in api.pods.items() if not pod.spec.node_name}
    queued = session.queue.pending()
    places = Counter(one.info.uid for pods in queued.values() for one in pods)
    assert places == Counter(waiting), "a pod is in no queue, or one that is bound is"
    for pod in (api.pods[uid] for uid in waiting):
        place = session.queue.place(pod.metadata.uid)
        if pod.spec.scheduling_gates:
            assert place is Place.GATED, pod
        else:
            assert not (nodes := would_fit(api, pod)), (
                f"{pod.metadata.name} fits on {nodes}: {place}"
            )
    for nomination in session.queue.nominator:
        status = api.pods[nomination.info.uid].status
        assert status.nominated_node_name == nomination.node, nomination


def _check_cache(scheduler: Scheduler) -> None:
    api, cluster = scheduler.api, scheduler.session.cluster
    held = {info.uid: (cluster.node_of(info.uid), info.pod) for info in cluster.pods()}
    told = {uid: (pod.spec.node_name, pod) for uid, pod in api.pods.items() if pod.spec.node_name}
    assert held == told, "the cache has other pods than the API"
    known = {name: scheduler.session.nodes.known(name) for name in api.nodes}
    assert known == api.nodes, "the newest version of a node was not taken in"
    # A mere heartbeat leaves the cache with the version before.
    cached = {node.metadata.name: _unversioned(node) for node in cluster.nodes()}
    assert cached == {name: _unversioned(node) for name, node in api.nodes.items()}


def _unversioned(node: Node) -> Node:
    metadata = msgspec.structs.replace(node.metadata, resource_version="")
    return msgspec.structs.replace(node, metadata=metadata)
