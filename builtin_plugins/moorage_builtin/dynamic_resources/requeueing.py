"""Which events may give a pod the devices that it waits for."""

from __future__ import annotations

from collections.abc import Callable

import moorage
from moorage.model.devices import ResourceClaim
from moorage_builtin.dynamic_resources.ledger import Ledger
from moorage_builtin.dynamic_resources.pod_claims import ClaimProblem, claims_of

__all__ = ["hints"]

_Hint = Callable[..., moorage.QueueingHint]
_QUEUE, _SKIP = moorage.QueueingHint.QUEUE, moorage.QueueingHint.SKIP


class _Hints:
    """Answers for all pods of one process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def on_claim(
        self, pod: moorage.Pod, before: ResourceClaim | None, after: ResourceClaim | None
    ) -> moorage.QueueingHint:
        """Come back when devices are given back, or the pod's own claim came or got on."""
        try:
            claims = claims_of(pod, self._ledger)
        except ClaimProblem:
            return _SKIP
        had = before is not None and before.status.allocation is not None
        if had and (after is None or after.status.allocation is None):
            return _QUEUE
        if after is None or all(one.metadata.uid != after.metadata.uid for one in claims):
            return _SKIP
        if before is not None and before.status == after.status:
            return _SKIP
        return _QUEUE

    def on_pod(
        self, pod: moorage.Pod, _before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        """Come back when all claims that are made for the pod are there."""
        if after is None or after.metadata.uid != pod.metadata.uid:
            return _SKIP
        try:
            claims_of(after, self._ledger)
        except ClaimProblem:
            return _SKIP
        return _QUEUE

    def on_deleted_pod(
        self, _pod: moorage.Pod, before: moorage.Pod | None, _after: object
    ) -> moorage.QueueingHint:
        """Come back when a pod did not come to have what was set aside for it.

        The API server tells nothing of that; what a pod really had is told of by its claims.
        """
        is_released = before is not None and before.metadata.uid in self._ledger.released
        return _QUEUE if is_released else _SKIP


def hints(ledger: Ledger) -> list[moorage.EventHint]:
    """Return the hints of DynamicResources."""
    action, resource = moorage.ActionType, moorage.EventResource
    changed = action.ADD | action.UPDATE_OTHER
    made = action.UPDATE_POD_GENERATED_RESOURCE_CLAIM
    node_changed = action.ADD | action.UPDATE_NODE_LABEL | action.UPDATE_NODE_ALLOCATABLE
    answers = _Hints(ledger)
    registered: list[tuple[moorage.EventResource, moorage.ActionType, _Hint | None]] = [
        (resource.NODE, node_changed, None),
        (resource.RESOURCE_CLAIM, changed | action.DELETE, answers.on_claim),
        (resource.UNSCHEDULED_POD, made, answers.on_pod),
        (resource.ASSIGNED_POD, action.DELETE, answers.on_deleted_pod),
        (resource.DEVICE_CLASS, changed, None),
        (resource.RESOURCE_SLICE, changed, None),
    ]
    return [
        moorage.EventHint(moorage.ClusterEvent(kind, what), hint) for kind, what, hint in registered
    ]
