"""VolumeZone: keeps a pod in the zones and regions that the labels of its volumes name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import (
    PersistentVolume,
    StorageClass,
    volume_class,
)
from moorage_builtin.volumes.claims import named_claims, not_found
from moorage_builtin.volumes.hints import is_named_claim

__all__ = ["VolumeZone"]

_TODAYS_LABEL = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""What became of the labels that older volumes and nodes have."""
_LABELS = (*_TODAYS_LABEL, *_TODAYS_LABEL.values())
_SEVERAL = "__"
_CONFLICT = moorage.Verdict.unresolvable("node(s) had no available volume zone")
_LATER = "WaitForFirstConsumer"

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP


class _Topology(NamedTuple):
    """A label of a volume: nodes must have one of the values."""

    label: str
    values: frozenset[str]


class _NotNowError(Exception):
    """What keeps a pod from being placed; the text is the reason."""


class VolumeZone(moorage.Plugin):
    """Filters by the zone and region labels of bound volumes."""

    # Pods without claims are let pass whatever happens; of all others the plugin is asked anew.
    filter_depends = moorage.Depends()
    watches = ("persistentvolumes", "persistentvolumeclaims", "storageclasses")

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Pods without claims look the same."""
        return None if named_claims(pod) else ()

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Find the labels of the pod's volumes; skip pods whose volumes have none."""
        topologies: list[_Topology] = []
        try:
            for name in named_claims(pod):
                volume = self._volume_of(pod, name)
                if volume is not None:
                    topologies += _topologies(volume)
        except _NotNowError as error:
            return moorage.Verdict.unresolvable(str(error))
        if not topologies:
            return moorage.SKIP
        state["topologies"] = tuple(dict.fromkeys(topologies))
        return None

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.bool_]:
        """Pass nodes that have a label's value, and those that have no such labels at all."""
        passes = np.ones(len(nodes), dtype=np.bool_)
        labelled = np.zeros(len(nodes), dtype=np.bool_)
        for label, values in state["topologies"]:
            column = nodes.labels(label)
            found = column.isin(values)
            if label in _TODAYS_LABEL:
                found |= ~column.present & nodes.labels(_TODAYS_LABEL[label]).isin(values)
            passes &= found
        # A cluster in one zone may do without the labels.
        for label in _LABELS:
            labelled |= nodes.labels(label).present
        return passes | ~labelled

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Preempting pods does not move a node."""
        return _CONFLICT

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when the claim, its volume or class appear, or a node does."""
        action, resource = moorage.ActionType, moorage.EventResource
        event = moorage.ClusterEvent
        return [
            moorage.EventHint(event(resource.STORAGE_CLASS, action.ADD), _after_class),
            moorage.EventHint(event(resource.NODE, action.ADD | action.UPDATE_NODE_LABEL)),
            moorage.EventHint(
                event(resource.PERSISTENT_VOLUME_CLAIM, action.ADD | action.UPDATE), is_named_claim
            ),
            moorage.EventHint(
                event(resource.PERSISTENT_VOLUME, action.ADD | action.UPDATE), _after_volume
            ),
        ]

    def _volume_of(self, pod: moorage.Pod, name: str) -> PersistentVolume | None:
        """Return the volume of a claim; None: it gets one later. Raises _NotNowError."""
        if not name:
            raise _NotNowError("PersistentVolumeClaim had no name")
        storage = self.handle.storage
        claim = storage.claim(pod.metadata.namespace, name)
        if claim is None:
            raise _NotNowError(not_found(name))
        if not claim.spec.volume_name:
            self._check_class(volume_class(claim))
            return None
        volume = storage.volume(claim.spec.volume_name)
        if volume is None:
            raise _NotNowError(f'persistentvolume "{claim.spec.volume_name}" not found')
        return volume

    def _check_class(self, name: str) -> None:
        """Raise _NotNowError unless volumes of a class are bound once a node is chosen."""
        if not name:
            raise _NotNowError("PersistentVolumeClaim had no pv name and storageClass name")
        found = self.handle.storage.get(StorageClass, name)
        if found is None:
            raise _NotNowError(f'storageclass.storage.k8s.io "{name}" not found')
        if found.volume_binding_mode is None:
            raise _NotNowError(f'VolumeBindingMode not set for StorageClass "{name}"')
        if found.volume_binding_mode != _LATER:
            raise _NotNowError("PersistentVolume had no name")


def _topologies(volume: PersistentVolume) -> list[_Topology]:
    found = []
    for label in _LABELS:
        zones = volume.metadata.labels.get(label, "").split(_SEVERAL)
        # A label that is empty, or has an empty part, says nothing.
        if all(zone.strip() for zone in zones):
            found.append(_Topology(label, frozenset(zone.strip() for zone in zones)))
    return found


def _after_class(
    pod: moorage.Pod,  # noqa: ARG001 - a hint gets all three
    before: StorageClass | None,  # noqa: ARG001 - as above
    after: StorageClass | None,
) -> moorage.QueueingHint:
    return _QUEUE if after is not None and after.volume_binding_mode == _LATER else _SKIP


def _after_volume(
    pod: moorage.Pod,  # noqa: ARG001 - as above
    before: PersistentVolume | None,
    after: PersistentVolume | None,
) -> moorage.QueueingHint:
    if before is None or after is None or _topologies(before) != _topologies(after):
        return _QUEUE
    return _SKIP
