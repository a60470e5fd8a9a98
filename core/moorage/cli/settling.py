"""Whether the embedded cluster has come to rest: what the stand-in for kubelets is yet to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded import RUN_SECONDS
from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.model.requests import amounts_of, pod_requests

if TYPE_CHECKING:
    from moorage.embedded import Store

__all__ = ["rest_of"]


def rest_of(store: Store) -> Hashable | None:
    """Return what changes with any pod; None while something happens by itself that matters.

    Bound pods are yet to be reported as running. And where a finite workload runs, its end makes
    room: that matters to a pod that was refused and would fit a node that is empty.
    """
    objects = store.list("pods")
    if not _has_settled(store, objects):
        return None
    return tuple((one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for one in objects)


def _has_settled(store: Store, objects: Sequence[Mapping[str, Any]]) -> bool:
    if any(pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending" for pod in objects):
        return False
    if not any(_will_end(pod) for pod in objects):
        return True
    refused = [msgspec.convert(pod, Pod) for pod in objects if _is_refused(pod)]
    nodes = [msgspec.convert(node, Node) for node in store.list("nodes")] if refused else []
    room = [amounts_of(node.status.allocatable) for node in nodes]
    return not any(_fits_an_empty_node(pod, room) for pod in refused)


def _will_end(pod: Mapping[str, Any]) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    return pod["status"]["phase"] == "Running" and RUN_SECONDS in annotations


def _is_refused(pod: Mapping[str, Any]) -> bool:
    return any(
        (condition["type"], condition["status"], condition.get("reason"))
        == ("PodScheduled", "False", "Unschedulable")
        for condition in pod["status"].get("conditions", ())
    )


def _fits_an_empty_node(pod: Pod, room: Iterable[Mapping[str, int]]) -> bool:
    wanted = pod_requests(pod).amounts
    return any(
        all(amount <= allocatable.get(resource, 0) for resource, amount in wanted)
        for allocatable in room
    )
