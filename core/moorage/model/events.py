"""What can happen in the cluster, in kube-scheduler's words (KEP-4247)."""

from __future__ import annotations

from enum import Flag, StrEnum, auto
from functools import lru_cache
from typing import NamedTuple

__all__ = ["ALL", "ActionType", "ClusterEvent", "EventResource", "describes"]


class EventResource(StrEnum):
    """The kind of object that an event is about; the values are kube-scheduler's labels."""

    ASSIGNED_POD = "AssignedPod"
    """A pod that is on a node."""
    UNSCHEDULED_POD = "UnschedulablePod"
    """The pending pod itself."""
    POD = "Pod"
    """Any pod; a plugin that registers it hears of assigned pods and of the pending pod itself."""
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    SERVICE = "Service"
    NAMESPACE = "Namespace"
    WILDCARD = "*"


class ActionType(Flag):
    """What happened; updates by what changed."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE_OTHER = auto()
    """A change that none of the other updates names."""
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


class ClusterEvent(NamedTuple):
    """A kind of event: which objects, and what happened to them; `action` may combine several.

    `resource` is ``plural.version.group`` for objects that `EventResource` does not name.
    """

    resource: EventResource | str
    action: ActionType

    @property
    def label(self) -> str:
        """What metrics call it (``NodeAdd``, ``NodeUpdateNodeLabel``); of several actions the first.

        kube-scheduler splits an update into one event a change and labels each; one event that
        carries all its changes is asked about once, and bears one label.
        """
        first = next(iter(self.action)).name or ""
        if self.action is ActionType.ALL:
            return f"{self.resource}All"
        if ActionType.UPDATE_OTHER in self.action:
            return f"{self.resource}Update"
        return self.resource + "".join(word.capitalize() for word in first.split("_"))

    @property
    def labels(self) -> tuple[str, ...]:
        """What metrics call each of its actions; an update of any kind is one."""
        return _labels(self)


@lru_cache(maxsize=1024)
def _labels(event: ClusterEvent) -> tuple[str, ...]:
    """Return the labels of an event, of which every pod that comes or goes has some."""
    if ActionType.UPDATE_OTHER in event.action:
        return (event.label,)
    return tuple(ClusterEvent(event.resource, action).label for action in event.action)


ALL = ClusterEvent(EventResource.WILDCARD, ActionType.ALL)
"""Everything: what a plugin that registers nothing is retried on."""


def describes(registered: ClusterEvent, happened: ClusterEvent) -> bool:
    """Say whether an event that happened is of a kind that was registered."""
    if not registered.action & happened.action:
        return False
    if EventResource.WILDCARD in (registered.resource, happened.resource):
        return True
    if registered.resource == EventResource.POD:
        return happened.resource in {
            EventResource.POD,
            EventResource.ASSIGNED_POD,
            EventResource.UNSCHEDULED_POD,
        }
    return registered.resource == happened.resource
