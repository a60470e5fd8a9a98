"""Workloads and services, as far as they say which pods belong together."""

from __future__ import annotations

from typing import TypeAlias

from moorage.model.meta import LabelSelector, ObjectMeta
from moorage.model.record import Record

__all__ = ["ReplicaSet", "ReplicationController", "Service", "StatefulSet", "Workload"]


class MapSelectorSpec(Record, frozen=True):
    """What a Service or a ReplicationController selects: labels; None: nothing at all."""

    selector: dict[str, str] | None = None


class LabelSelectorSpec(Record, frozen=True):
    """What a ReplicaSet or a StatefulSet selects."""

    selector: LabelSelector | None = None


class Service(Record, frozen=True):
    """A service; the pods that it selects are spread together by default."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MapSelectorSpec = MapSelectorSpec()


class ReplicationController(Record, frozen=True):
    """A controller of pods of one kind."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MapSelectorSpec = MapSelectorSpec()


class ReplicaSet(Record, frozen=True):
    """A controller of pods of one kind; what a Deployment makes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()


class StatefulSet(Record, frozen=True):
    """A controller of pods of one kind with names that stay."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()


Workload: TypeAlias = Service | ReplicationController | ReplicaSet | StatefulSet
"""Any object of this module."""
