"""What claims and volumes say, and how they say it once they are bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = [
    "BIND_COMPLETED",
    "Get",
    "Key",
    "Object",
    "annotated",
    "annotations_of",
    "bound_claim",
    "bound_volume",
    "class_of",
    "is_for",
    "key_of",
    "phase_of",
    "reference_to",
    "requests_of",
    "with_phase",
]

Object: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]
"""Namespace and name."""
Get: TypeAlias = Callable[[str, str, str], Object | None]
"""Finds an object as it is now by kind, namespace (empty where it has none) and name."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


def key_of(item: Mapping[str, Any]) -> Key:
    """Return namespace and name of an object."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def annotations_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations of an object."""
    return item["metadata"].get("annotations") or {}


def phase_of(item: Mapping[str, Any]) -> str:
    """Return the phase of an object; an empty text: it says none."""
    return (item.get("status") or {}).get("phase") or ""


def class_of(item: Mapping[str, Any]) -> str:
    """Return the name of the class of a volume or a claim; an empty text: none."""
    return item["spec"].get("storageClassName") or ""


def requests_of(claim: Object) -> dict[str, str]:
    """Return how much a claim asks for, by resource."""
    return (claim["spec"].get("resources") or {}).get("requests") or {}


def is_for(reference: Mapping[str, Any], claim: Object) -> bool:
    """Say whether a volume's reference means a claim; one of its user has no uid."""
    own = claim["metadata"]
    return (
        reference.get("namespace", "") == own.get("namespace", "")
        and reference["name"] == own["name"]
        and reference.get("uid") in {None, "", own.get("uid")}
    )


def reference_to(claim: Object) -> Object:
    """Return the reference by which a volume names its claim."""
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def with_phase(item: Object, phase: str) -> Object:
    """Return an object in another phase."""
    return {**item, "status": {**(item.get("status") or {}), "phase": phase}}


def annotated(item: Object, annotations: Mapping[str, str]) -> Object:
    """Return an object with more annotations."""
    found = {**annotations_of(item), **annotations}
    return {**item, "metadata": {**item["metadata"], "annotations": found}}


def bound_volume(volume: Object, claim: Object) -> Object:
    """Return a volume that is bound to a claim; as it is, where it is that already."""
    reference = volume["spec"].get("claimRef")
    bound = with_phase(volume, "Bound")
    if reference is None or not reference.get("uid"):
        bound["spec"] = {**volume["spec"], "claimRef": reference_to(claim)}
    return annotated(bound, {_BOUND_BY_CONTROLLER: "yes"}) if reference is None else bound


def bound_claim(claim: Object, volume: Object) -> Object:
    """Return a claim that is bound to a volume."""
    by_user = claim["spec"].get("volumeName")
    bound = annotated(
        claim, {BIND_COMPLETED: "yes", **({} if by_user else {_BOUND_BY_CONTROLLER: "yes"})}
    )
    bound["spec"] = {**claim["spec"], "volumeName": volume["metadata"]["name"]}
    bound["status"] = {
        "phase": "Bound",
        "accessModes": volume["spec"].get("accessModes") or [],
        "capacity": volume["spec"].get("capacity") or {},
    }
    return bound
