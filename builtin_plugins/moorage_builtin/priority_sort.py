"""PrioritySort: the highest priority first, then the pod that has waited longest."""

from __future__ import annotations

import moorage

__all__ = ["PrioritySort"]


class PrioritySort(moorage.Plugin):
    """Sorts the active queue by ``spec.priority``."""

    @moorage.hookimpl
    def queue_sort(self, queued: moorage.QueuedPod) -> tuple[int, float]:
        """Sort by falling priority, then by rising time of queueing."""
        return -queued.info.priority, queued.timestamp
