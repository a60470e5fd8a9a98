"""CustomResourceDefinitions: kinds of objects that users bring, stored as they are.

Of a definition's versions the one in which objects are stored is served. Nothing is checked against
its schema, which only a real API server knows to read, and nothing is pruned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.resources import Resource
from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFINITIONS", "check_definition", "resource_defined_by", "set_established"]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_SCOPES = '"Cluster", "Namespaced"'


def check_definition(item: dict[str, Any]) -> list[Cause]:
    """Return what keeps a definition from being served."""
    spec = _mapping(item.get("spec"))
    names = _mapping(spec.get("names"))
    wanted = {
        "spec.group": spec.get("group"),
        "spec.names.plural": names.get("plural"),
        "spec.names.kind": names.get("kind"),
    }
    causes = [
        Cause("FieldValueRequired", "Required value", field)
        for field, value in wanted.items()
        if not value or not isinstance(value, str)
    ]
    if spec.get("scope") not in {"Namespaced", "Cluster"}:
        text = f'Unsupported value: "{spec.get("scope", "")}": supported values: {_SCOPES}'
        causes.append(Cause("FieldValueNotSupported", text, "spec.scope"))
    if _stored_version(spec) is None:
        text = "Invalid value: must have exactly one version marked as storage version"
        causes.append(Cause("FieldValueInvalid", text, "spec.versions"))
    name, expected = item["metadata"]["name"], f"{names.get('plural')}.{spec.get('group')}"
    if not causes and name != expected:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        causes.append(Cause("FieldValueInvalid", text, "metadata.name"))
    return causes


def set_established(item: dict[str, Any]) -> None:
    """Say of a new definition that it is served: `kubectl wait --for=condition=established`."""
    now = item["metadata"]["creationTimestamp"]
    reasons = {"NamesAccepted": "NoConflicts", "Established": "InitialNamesAccepted"}
    item["status"] = {
        "acceptedNames": dict(item["spec"]["names"]),
        "storedVersions": [_stored_version(item["spec"])],
        "conditions": [
            {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now}
            for kind, reason in reasons.items()
        ],
    }


def resource_defined_by(item: Mapping[str, Any]) -> Resource:
    """Return the row of the table of resources that a checked definition makes."""
    spec = item["spec"]
    names = spec["names"]
    version = _stored_version(spec)
    assert version is not None  # noqa: S101 - it was checked
    return Resource(
        spec["group"],
        version,
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(map(str, names.get("shortNames") or ())),
        categories=tuple(map(str, names.get("categories") or ())),
        singular=str(names.get("singular") or ""),
        subresources=("status",) if _has_status(spec, version) else (),
        generation=True,
    )


def _stored_version(spec: Mapping[str, Any]) -> str | None:
    versions = spec.get("versions")
    known = [_mapping(one) for one in versions] if isinstance(versions, list) else []
    stored = [one["name"] for one in known if one.get("storage") and one.get("name")]
    return str(stored[0]) if len(stored) == 1 else None


def _has_status(spec: Mapping[str, Any], version: str) -> bool:
    return any(
        _mapping(one).get("name") == version and "status" in _mapping(one.get("subresources"))
        for one in spec["versions"]
    )


def _mapping(value: object) -> Mapping[str, Any]:
    """Return what should be an object, and nothing where it is another thing."""
    return value if isinstance(value, dict) else {}
