"""What an update changed, in the words that plugins register for: one rule for feed and queue.

The rules are kube-scheduler's (`framework/events.go`): a difference that no plugin could register
for is no change at all, so that heartbeats and status writes wake nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from moorage.model.events import ActionType
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import Node
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod
from moorage.model.quantities import InvalidQuantityError
from moorage.model.requests import Requests, amounts_of

__all__ = ["NO_CHANGE", "node_changes", "pod_changes"]

NO_CHANGE = ActionType(0)
"""Nothing that a plugin could have registered for."""


def pod_changes(old: PodInfo, new: PodInfo) -> ActionType:
    """Say what differs between two versions of one pod, pending or assigned.

    `ActionType.UPDATE_OTHER` stands alone: the spec or the metadata differ and no other name fits.
    A difference in status alone is `NO_CHANGE`, unless it lowers what the pod counts for (a resize),
    or names a claim that was made for the pod.
    """
    before, after = old.pod, new.pod
    changes = NO_CHANGE
    if before.metadata.labels != after.metadata.labels:
        changes |= ActionType.UPDATE_POD_LABEL
    if _is_scaled_down(old.requests, new.requests):
        changes |= ActionType.UPDATE_POD_SCALE_DOWN
    if len(before.spec.tolerations) != len(after.spec.tolerations):
        # The API lets them be added; of those that are there only for how long may change.
        changes |= ActionType.UPDATE_POD_TOLERATION
    if before.status.resource_claim_statuses != after.status.resource_claim_statuses:
        changes |= ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
    if before.spec.scheduling_gates and not after.spec.scheduling_gates:
        changes |= ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if not changes and _differs_elsewhere(before, after):
        return ActionType.UPDATE_OTHER
    return changes


def node_changes(old: Node, new: Node) -> ActionType:
    """Say what differs between two versions of one node.

    A node that becomes schedulable counts as a change of taints, as in kube-scheduler; one that is
    cordoned can help nobody and is no change. Of conditions only type and status count.
    """
    changes = NO_CHANGE
    if _is_uncordoned(old, new) or old.spec.taints != new.spec.taints:
        changes |= ActionType.UPDATE_NODE_TAINT
    if _amounts_differ(old.status.allocatable, new.status.allocatable):
        changes |= ActionType.UPDATE_NODE_ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        changes |= ActionType.UPDATE_NODE_LABEL
    if _condition_statuses(old) != _condition_statuses(new):
        changes |= ActionType.UPDATE_NODE_CONDITION
    if old.status.declared_features != new.status.declared_features:
        changes |= ActionType.UPDATE_NODE_DECLARED_FEATURE
    if _annotations(old) != _annotations(new):
        changes |= ActionType.UPDATE_NODE_ANNOTATION
    return changes


def _is_scaled_down(old: Requests, new: Requests) -> bool:
    if old is new or old.amounts == new.amounts:
        return False
    now = dict(new.amounts)
    return any(resource not in now or now[resource] < amount for resource, amount in old.amounts)


def _differs_elsewhere(old: Pod, new: Pod) -> bool:
    return old.spec != new.spec or _unversioned(old) != _unversioned(new)


def _unversioned(pod: Pod) -> ObjectMeta:
    return msgspec.structs.replace(pod.metadata, resource_version="", generation=0)


def _is_uncordoned(old: Node, new: Node) -> bool:
    return old.spec.unschedulable and not new.spec.unschedulable


def _amounts_differ(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Compare by value: ``1`` and ``1000m`` are the same amount of cpu."""
    if old == new:
        return False
    try:
        return amounts_of(old) != amounts_of(new)
    except InvalidQuantityError:
        return True


def _annotations(node: Node) -> object:
    """Return the annotations, which are decoded only where a plugin declared them."""
    return getattr(node.metadata, "annotations", None)


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
