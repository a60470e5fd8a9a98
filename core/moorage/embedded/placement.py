"""Binding a pod to a node, and evicting it: the pod's own subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.clock import timestamp
from moorage.embedded.registry import uid_mismatch
from moorage.embedded.rules.metadata import MetadataTypes
from moorage.embedded.rules.names import check_supported, required
from moorage.embedded.rules.pod_types import Types, check_types
from moorage.embedded.status import bad_request, conflict, invalid

if TYPE_CHECKING:
    from moorage.embedded.registry import Deletion, Registry
    from moorage.embedded.shelf import Key, Version

__all__ = ["DeleteOptionsTypes", "bind", "evict"]


class TargetTypes(Types):
    """What a Binding points at."""

    kind: str | None = None
    name: str | None = None


class BindingTypes(Types):
    """The JSON types of a Binding."""

    metadata: MetadataTypes | None = None
    target: TargetTypes | None = None


class PreconditionsTypes(Types):
    """What has to hold of an object for it to be deleted."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptionsTypes(Types):
    """The JSON types of DeleteOptions."""

    grace_period_seconds: int | None = None
    preconditions: PreconditionsTypes | None = None


class EvictionTypes(Types):
    """The JSON types of an Eviction."""

    delete_options: DeleteOptionsTypes | None = None


def bind(registry: Registry, key: Key, binding: dict[str, Any]) -> Version:
    """Assign a pod to the node that a Binding names; whether the node exists is not asked.

    Annotations of the Binding go into the pod. 409 if the uid is another pod's, or the pod is
    gated, being deleted or assigned already.
    """
    check_types("Binding", binding, BindingTypes)
    pods = registry.catalogue.named("pods")
    metadata = _metadata(binding, key)
    node = _target(binding, key)
    old = registry.get(pods, key)
    wanted_uid = metadata.get("uid")
    if wanted_uid and wanted_uid != old.uid:
        raise conflict(pods, key.name, uid_mismatch(pods, key, wanted_uid, old.uid))
    pod = old.as_dict(pods)
    refusal = _refusal(pod)
    if refusal:
        raise conflict(pods, key.name, f"pod {key.name} {refusal}", named="pods/binding")
    pod["spec"]["nodeName"] = node
    if metadata.get("annotations"):
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, **metadata["annotations"]}
    status = pod["status"]
    status.pop("nominatedNodeName", None)
    _set_scheduled(status, timestamp(registry.clock.now()))
    return registry.put(pods, key, pod)


def _metadata(binding: dict[str, Any], key: Key) -> dict[str, Any]:
    metadata = binding.get("metadata") or {}
    name = metadata.get("name")
    if name and name != key.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({key.name})"
        )
    return dict(metadata)


def _target(binding: dict[str, Any], key: Key) -> str:
    target = binding.get("target") or {}
    causes = []
    if target.get("kind"):
        causes += check_supported("target.kind", target["kind"], ["Node", "<empty>"])
    if not target.get("name"):
        causes.append(required("target.name"))
    if causes:
        raise invalid("Binding", "", key.name, causes)
    return str(target["name"])


def _refusal(pod: dict[str, Any]) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return "has non-empty .spec.schedulingGates"
    return ""


def _set_scheduled(status: dict[str, Any], moment: str) -> None:
    conditions = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
    conditions.append(
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": moment,
        }
    )
    status["conditions"] = conditions


def evict(registry: Registry, key: Key, eviction: dict[str, Any]) -> Deletion:
    """Delete a pod with the options of an Eviction.

    Disruption budgets are not consulted: nothing here keeps their status up to date.
    """
    check_types("Eviction", eviction, EvictionTypes)
    options = eviction.get("deleteOptions") or {}
    preconditions = options.get("preconditions") or {}
    return registry.delete(
        registry.catalogue.named("pods"),
        key,
        grace=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        number=preconditions.get("resourceVersion"),
    )
