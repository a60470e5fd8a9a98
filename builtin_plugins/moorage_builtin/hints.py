"""Hints that several plugins give."""

from __future__ import annotations

import moorage

__all__ = ["is_own_update"]


def is_own_update(
    pod: moorage.Pod, _before: moorage.Pod | None, after: moorage.Pod | None
) -> moorage.QueueingHint:
    """Retry the pod that changed itself, in what the plugin registered for."""
    if after is not None and after.metadata.uid == pod.metadata.uid:
        return moorage.QueueingHint.QUEUE
    return moorage.QueueingHint.SKIP
