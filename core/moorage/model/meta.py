"""Metadata that every API object carries, and label selectors as the API writes them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from moorage.model.record import Record

__all__ = ["LabelSelector", "LabelSelectorRequirement", "Namespace", "ObjectMeta", "OwnerReference"]


class OwnerReference(Record, frozen=True):
    """Who made an object; `controller` marks the one that manages it."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class ObjectMeta(Record, frozen=True):
    """ObjectMeta of the API, as far as a scheduler reads it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class LabelSelectorRequirement(Record, frozen=True):
    """One expression: In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    """Labels and expressions that must all hold; an empty selector matches everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Namespace(Record, frozen=True):
    """A namespace; its labels are what namespace selectors look at."""

    metadata: ObjectMeta = ObjectMeta()
