"""What one write may touch of an object that exists, and what stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.embedded.resources import Resource

__all__ = [
    "DROPPED",
    "SERVER_OWNED",
    "content_of",
    "is_free",
    "keep_server_owned",
    "parts_written",
]

# Written by the server alone; what a client sends is dropped on create and ignored on update.
SERVER_OWNED = ("deletionTimestamp", "deletionGracePeriodSeconds", "generation")
DROPPED = ("managedFields", "selfLink")


def keep_server_owned(metadata: dict[str, Any], present: dict[str, Any]) -> None:
    """Put what the server alone writes back into metadata to be written, from the present one."""
    for name in DROPPED:
        metadata.pop(name, None)
    for name in SERVER_OWNED:
        metadata.pop(name, None)
        if name in present:
            metadata[name] = present[name]
    for name in ("uid", "creationTimestamp", "namespace", "name"):
        if not metadata.get(name) and name in present:
            metadata[name] = present[name]


def parts_written(
    resource: Resource, item: dict[str, Any], present: dict[str, Any], subresource: str
) -> dict[str, Any]:
    """Return the object to be stored: the parts that this endpoint writes, the rest as it was."""
    if subresource == "status":
        status = dict(item.get("status") or {})
        if "qosClass" in (present.get("status") or {}):
            status["qosClass"] = present["status"]["qosClass"]
        return {**present, "metadata": item["metadata"], "status": status}
    if subresource == "resize":
        return {**present, "spec": _resized(present["spec"], item.get("spec") or {})}
    if resource.has_status and "status" in present:
        return {**item, "status": present["status"]}
    return item


def _resized(spec: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return a pod's spec with the resources of `wanted`, in containers of the same name."""
    resized = dict(spec)
    if "resources" in wanted:
        resized["resources"] = wanted["resources"]
    for name in ("initContainers", "containers"):
        if name in spec:
            by_name = {one.get("name"): one for one in wanted.get(name) or ()}
            resized[name] = [
                {**one, "resources": by_name.get(one["name"], one).get("resources", {})}
                for one in spec[name]
            ]
    return resized


def content_of(item: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an object whose change makes a new generation."""
    return {name: part for name, part in item.items() if name not in {"metadata", "status"}}


def is_free(metadata: dict[str, Any]) -> bool:
    """Tell whether nothing holds back an object that is marked for deletion."""
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")
