"""What admission does: a pod's priority and default tolerations, namespaces that have to stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.status import forbidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moorage.embedded.resources import Resource

__all__ = [
    "INITIAL_NAMESPACES",
    "INITIAL_PRIORITY_CLASSES",
    "add_default_tolerations",
    "refuse_deletion",
    "set_priority",
]

INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_IMMORTAL_NAMESPACES = frozenset({"default", "kube-public", "kube-system"})
# The scheduling API's reserved classes and their values.
INITIAL_PRIORITY_CLASSES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_TOLERATED_SECONDS = 300
_TOLERATED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def set_priority(
    resource: Resource, pod: dict[str, Any], classes: Mapping[str, dict[str, Any]]
) -> None:
    """Resolve a pod's priority class; `classes` are all PriorityClass objects by name.

    A class that does not exist is a 403, and so is a priority or preemption policy in the pod that
    differs from what its class says.
    """
    spec, name = pod["spec"], pod["metadata"]["name"]
    wanted = spec.get("priorityClassName")
    if wanted:
        chosen = classes.get(wanted)
        if chosen is None:
            raise forbidden(resource, name, f"no PriorityClass with name {wanted} was found")
    else:
        chosen = _default_class(classes.values())
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    priority = chosen["value"] if chosen else 0
    policy = (chosen or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    if spec.get("priority") not in {None, priority}:
        raise forbidden(
            resource,
            name,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name",
        )
    if spec.get("preemptionPolicy") not in {None, policy}:
        raise forbidden(
            resource,
            name,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name",
        )
    spec["priority"] = priority
    spec["preemptionPolicy"] = policy


def _default_class(classes: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Of several global defaults the one with the lowest value counts."""
    defaults = [one for one in classes if one.get("globalDefault")]
    return min(defaults, key=lambda one: int(one["value"]), default=None)


def add_default_tolerations(spec: dict[str, Any]) -> None:
    """Tolerate a node that is not ready or unreachable for five minutes, unless the pod says so."""
    tolerations = list(spec.get("tolerations") or ())
    for key in _TOLERATED_TAINTS:
        if not any(_covers(toleration, key) for toleration in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATED_SECONDS,
                }
            )
    spec["tolerations"] = tolerations


def _covers(toleration: dict[str, Any], key: str) -> bool:
    return (toleration.get("key") or key) == key and (
        toleration.get("effect") or "NoExecute"
    ) == "NoExecute"


def refuse_deletion(resource: Resource, name: str) -> None:
    """Raise a 403 if it is one of the namespaces that a cluster cannot do without."""
    if resource.qualified == "namespaces" and name in _IMMORTAL_NAMESPACES:
        raise forbidden(resource, name, "this namespace may not be deleted")
