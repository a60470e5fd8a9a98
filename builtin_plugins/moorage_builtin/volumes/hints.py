"""Hints about claims: whether one that came or changed is the waiting pod's."""

from __future__ import annotations

import moorage
from moorage.model import PersistentVolumeClaim
from moorage_builtin.volumes.claims import named_claims, uses

__all__ = ["is_named_claim", "is_used_claim"]


def is_used_claim(
    pod: moorage.Pod,
    before: PersistentVolumeClaim | None,  # noqa: ARG001 - a hint gets both versions
    after: PersistentVolumeClaim | None,
) -> moorage.QueueingHint:
    """Queue where the pod uses the claim, be it made for it or not."""
    is_ours = after is not None and uses(pod, after)
    return moorage.QueueingHint.QUEUE if is_ours else moorage.QueueingHint.SKIP


def is_named_claim(
    pod: moorage.Pod,
    before: PersistentVolumeClaim | None,  # noqa: ARG001 - a hint gets both versions
    after: PersistentVolumeClaim | None,
) -> moorage.QueueingHint:
    """Queue where the pod names the claim."""
    is_ours = (
        after is not None
        and after.metadata.namespace == pod.metadata.namespace
        and after.metadata.name in named_claims(pod)
    )
    return moorage.QueueingHint.QUEUE if is_ours else moorage.QueueingHint.SKIP
