"""Telling, now and then, what keeps a scheduler from being idle, while nothing moves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator

from moorage.binding import Reservation
from moorage.cache.cluster import ClusterCache
from moorage.framework.waiting_pods import WaitingPods
from moorage.queueing import Place, SchedulingQueue

__all__ = ["Patience", "about_pods", "about_unseen"]

_logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""How long nothing may move before something is said; then twice as long, and so on."""
_MOST_PODS = 5


class Patience:
    """Warns when something is waited for and nothing has moved for long."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._standing: Hashable = None
        self._since = clock()
        self._next = PATIENCE_SECONDS

    def look(self, standing: Hashable, reasons: Callable[[], Iterable[str]]) -> None:
        """Look once; `standing` changes when something moves, `reasons` say what is waited for."""
        now = self._clock()
        if standing != self._standing:
            self._standing, self._since, self._next = standing, now, PATIENCE_SECONDS
            return
        lasted = now - self._since
        if lasted >= self._next:
            self._next = 2 * lasted
            what = "; ".join(reasons()) or "the API server to show what was done last"
            _logger.warning("Nothing has moved for %.0f s; waiting for %s", lasted, what)


def about_pods(
    bindings: Iterable[Reservation], waiting: WaitingPods, queue: SchedulingQueue
) -> Iterator[str]:
    """Say which pods are on their way, and where in it, and which are to be tried yet."""
    yield from _first([_about(one, waiting) for one in bindings])
    pending = queue.pending()
    for place, what in ((Place.ACTIVE, "its turn"), (Place.BACKOFF, "its backoff to end")):
        yield from _first(
            [f"pod {queued.key}, which waits for {what}" for queued in pending[place]]
        )


def about_unseen(cluster: ClusterCache) -> list[str]:
    """Say which pods a plugin has bound, as it says, and nobody sees on their nodes."""
    return _first(
        [
            f"pod {info.key}, which was bound and is not seen on a node; does its Bind plugin bind?"
            for info in cluster.pods()
            if cluster.is_assumed(info.uid)
        ]
    )


def _about(reservation: Reservation, waiting: WaitingPods) -> str:
    info = reservation.info
    held = waiting.get(info.uid)
    if held is not None and held.pending_plugins:
        plugins = ", ".join(map(repr, sorted(held.pending_plugins)))
        return f"pod {info.key}, which waits in permit for plugin {plugins}"
    at = reservation.at
    if at is not None:
        origin = reservation.framework.origin(at.plugin)
        return f"pod {info.key}, which is in {at.name} of plugin {at.plugin!r} ({origin})"
    return f"pod {info.key}, which is on its way to node {reservation.node_name}"


def _first(sentences: list[str]) -> list[str]:
    """Shorten a list that nobody would read to its end."""
    more = len(sentences) - _MOST_PODS
    return sentences if more <= 0 else [*sentences[:_MOST_PODS], f"{more} more pods like these"]
