"""Numbers that stand in queue and cache, and are read when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from moorage.cache.cluster import ClusterCache
from moorage.framework.requeue import NO_NODES
from moorage.metrics import Metrics
from moorage.queueing import Place, SchedulingQueue

__all__ = ["read_gauges"]

_QUEUES = (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED)


def read_gauges(
    metrics: Metrics,
    queue: SchedulingQueue,
    cluster: ClusterCache,
    *,
    count_nodes: Callable[[], int],
) -> None:
    """Have the gauges read from a queue and a cache, in whatever thread; lengths, no walks.

    `count_nodes` is called instead of the cache's own count, which may make an array of rows.
    """
    families = metrics.scheduling

    def pending() -> Mapping[tuple[str, ...], float]:
        counts = queue.counts()
        return {(place.value,): counts[place] for place in _QUEUES}

    def unschedulable() -> Mapping[tuple[str, ...], float]:
        counts = queue.refused_counts()
        return {
            (plugin, profile): count
            for (profile, plugin), count in counts.items()
            if plugin != NO_NODES
        }

    families.pending.read_from(pending)
    families.unschedulable.read_from(unschedulable)
    families.inflight_events.read_from(
        lambda: {(event,): count for event, count in queue.event_counts().items()}
    )
    families.cache_size.read_from(
        lambda: {
            ("nodes",): count_nodes(),
            ("pods",): cluster.pod_count,
            ("assumed_pods",): cluster.assumed_count,
        }
    )
