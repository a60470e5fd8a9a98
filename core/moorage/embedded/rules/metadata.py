"""An object's metadata: its JSON types, its rules, and what may not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.rules.names import check_annotations, check_labels, check_name, invalid_value
from moorage.embedded.status import bad_request

if TYPE_CHECKING:
    from moorage.embedded.resources import Resource
    from moorage.embedded.status import Cause

__all__ = [
    "MetadataTypes",
    "check_metadata",
    "check_metadata_change",
    "check_metadata_types",
    "wrong_type",
]


class OwnerReferenceTypes(msgspec.Struct, rename="camel"):
    """The JSON types of an owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str


class MetadataTypes(msgspec.Struct, rename="camel"):
    """The JSON types of ``metadata``."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReferenceTypes] | None = None


class ObjectTypes(msgspec.Struct):
    """The JSON types that every object has to have."""

    metadata: MetadataTypes
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def wrong_type(resource: Resource, error: msgspec.ValidationError) -> Exception:
    """Return the 400 for a value of the wrong JSON type; the text says which field it is."""
    return bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a '
        f"{resource.kind}: {str(error).replace('$.', '')}"
    )


def check_metadata_types(resource: Resource, item: dict[str, Any]) -> None:
    """Raise a 400 if ``metadata`` is missing, or a field of it, or spec or status, has a wrong type."""
    try:
        msgspec.convert(item, ObjectTypes)
    except msgspec.ValidationError as error:
        raise wrong_type(resource, error) from error


def check_metadata(resource: Resource, metadata: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with the metadata of an object that has its name."""
    return [
        *check_name("metadata.name", metadata["name"], resource.name_rule),
        *check_labels("metadata.labels", metadata.get("labels") or {}),
        *check_annotations("metadata.annotations", metadata.get("annotations") or {}),
    ]


def check_metadata_change(new: dict[str, Any], old: dict[str, Any]) -> list[Cause]:
    """Return the immutable fields of metadata that an update would change.

    Each stands there twice: the registry checks metadata and so does the kind's own strategy, and
    a real API server lists the causes of both.
    """
    return [
        cause
        for name in ("name", "namespace", "uid", "creationTimestamp")
        if new.get(name) != old.get(name)
        for cause in [invalid_value(f"metadata.{name}", new.get(name), "field is immutable")] * 2
    ]
