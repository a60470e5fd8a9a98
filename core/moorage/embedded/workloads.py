"""A stand-in for the workload controllers: the objects they would create, once.

In: the pods of a Deployment (through its ReplicaSet), ReplicaSet, ReplicationController,
StatefulSet (with its claims), DaemonSet and Job, owned and labelled as the controllers do it. Out:
keeping the number up later: a pod that goes is not replaced, a Job's later completions do not come.
"""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.daemons import belongs_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CONTROLLED_KINDS", "dependents_of"]

CONTROLLED_KINDS = frozenset(
    {"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
)
_HASH_LABEL = "pod-template-hash"
_HASH_LENGTH = 10


def dependents_of(
    workload: Mapping[str, Any], *, nodes: Iterable[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return what the controller of a stored workload would create next, in order.

    `nodes` are all nodes, for a DaemonSet, which has pods where they would be let in. Of a
    Deployment that is its ReplicaSet, whose own dependents are the pods.
    """
    match workload["kind"]:
        case "Deployment":
            return [_replica_set(workload)]
        case "StatefulSet":
            return _stateful(workload)
        case "DaemonSet":
            pods = [(_daemon(workload, node["metadata"]["name"]), node) for node in nodes]
            return [pod for pod, node in pods if belongs_on(pod, node)]
        case "Job":
            return _job(workload)
        case "ReplicaSet" | "ReplicationController":
            return [_pod(workload) for _ in range(workload["spec"]["replicas"])]
    return []


def _owner(workload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "name": workload["metadata"]["name"],
        "uid": workload["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod(workload: Mapping[str, Any], *, name: str = "") -> dict[str, Any]:
    """Return a pod of the workload's template; without `name` the server makes one up."""
    template = copy.deepcopy(workload["spec"]["template"])
    own = template.get("metadata") or {}
    stem = {"name": name} if name else {"generateName": f"{workload['metadata']['name']}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{part: own[part] for part in ("labels", "annotations") if own.get(part)},
            **stem,
            "namespace": workload["metadata"]["namespace"],
            "ownerReferences": [_owner(workload)],
        },
        "spec": template["spec"],
    }


def _labelled(pod: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **labels}
    return pod


def _replica_set(deployment: Mapping[str, Any]) -> dict[str, Any]:
    spec = copy.deepcopy(deployment["spec"])
    digest = hashlib.sha256(msgspec.json.encode(spec["template"], order="sorted")).hexdigest()
    label = {_HASH_LABEL: digest[:_HASH_LENGTH]}
    template, selector = spec["template"], spec["selector"]
    _labelled(template, label)
    labels = selector.get("matchLabels") or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{label[_HASH_LABEL]}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": [_owner(deployment)],
        },
        "spec": {
            "replicas": spec["replicas"],
            "selector": {**selector, "matchLabels": {**labels, **label}},
            "template": template,
        },
    }


def _stateful(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    created: list[dict[str, Any]] = []
    for ordinal in range(workload["spec"]["replicas"]):
        name = f"{workload['metadata']['name']}-{ordinal}"
        pod = _pod(workload, name=name)
        _labelled(
            pod,
            {
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(ordinal),
            },
        )
        pod["spec"].setdefault("hostname", name)
        for claim in copy.deepcopy(workload["spec"].get("volumeClaimTemplates") or []):
            volume = claim["metadata"]["name"]
            claim["metadata"]["name"] = f"{volume}-{name}"
            claim["metadata"]["namespace"] = workload["metadata"]["namespace"]
            created.append({**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim"})
            source = {"claimName": claim["metadata"]["name"]}
            pod["spec"].setdefault("volumes", []).append(
                {"name": volume, "persistentVolumeClaim": source}
            )
        created.append(pod)
    return created


def _job(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    spec, name, uid = job["spec"], job["metadata"]["name"], job["metadata"]["uid"]
    at_once = spec.get("parallelism", 1)
    count = min(at_once, spec.get("completions", at_once))
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    return [_labelled(_pod(job), labels) for _ in range(count)]


def _daemon(workload: Mapping[str, Any], node: str) -> dict[str, Any]:
    """Return the pod for one node: held to it by affinity, and tolerant of a node in trouble."""
    pod = _pod(workload)
    spec = pod["spec"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    # The template's own required terms are narrowed to the node, each for itself.
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or [{}]
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
        "nodeSelectorTerms": [{**own, **term} for own in terms]
    }
    tolerated = [("not-ready", "NoExecute"), ("unreachable", "NoExecute")]
    tolerated += [(name, "NoSchedule") for name in ("disk-pressure", "memory-pressure")]
    tolerated += [(name, "NoSchedule") for name in ("pid-pressure", "unschedulable")]
    spec["tolerations"] = [
        *(spec.get("tolerations") or ()),
        *(
            {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
            for name, effect in tolerated
        ),
    ]
    return pod
