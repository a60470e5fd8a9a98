"""When nothing more can happen by itself, and what that waits for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from moorage.api.client import ApiClient
from moorage.binding import Reporter, Reservation
from moorage.errors import MoorageError
from moorage.queueing import Place
from moorage.runner.catching_up import has_caught_up
from moorage.runner.patience import about_pods, about_unseen
from moorage.runner.side_work import SideWork
from moorage.runner.watching import Watch
from moorage.session import Session

__all__ = ["Idleness"]

_logger = logging.getLogger(__name__)

_ERRORS_WAITED_FOR = 3
"""After so many errors in a row, a pod's next try is not something that idling waits for."""


class Idleness:
    """Looks at everything that may still do something; `reservations` tells what is on its way."""

    def __init__(
        self,
        session: Session,
        client: ApiClient,
        watches: Sequence[Watch],
        *,
        reporter: Reporter,
        side_work: SideWork,
        reservations: Callable[[], Collection[Reservation]],
    ) -> None:
        self._session = session
        self._client = client
        self._watches = watches
        self._reporter = reporter
        self._side_work = side_work
        self._reservations = reservations

    async def is_reached(self) -> bool:
        """Say whether nothing goes on in here, and all that the API server holds was seen."""
        return self._is_quiet() and await self._has_caught_up() and self._is_quiet()

    def standing(self) -> Hashable:
        """Return what changes whenever something moves."""
        cluster, queue = self._session.cluster, self._session.queue
        versions = tuple(watch.reflector.resource_version for watch in self._watches)
        counts = tuple(queue.counts().values())
        return cluster.pod_count, cluster.assumed_count, len(self._reservations()), counts, versions

    def reasons(self) -> Iterator[str]:
        """Say what idleness waits for."""
        session, reservations = self._session, self._reservations()
        for watch in self._watches:
            if not watch.reflector.synced.is_set():
                yield f"the first list of {watch.reflector.resource}"
        yield from about_pods(reservations, session.services.waiting, session.queue)
        if not reservations:
            yield from about_unseen(session.cluster)
        if not self._reporter.status.is_idle:
            yield f"{self._reporter.status.unfinished} statuses of pods to be written"
        if not self._side_work.is_idle:
            yield "calls that plugins make at the API server"

    def _is_quiet(self) -> bool:
        session = self._session
        if not all(watch.reflector.synced.is_set() for watch in self._watches):
            return False
        if self._reservations() or session.cluster.assumed_count:
            return False
        if not (self._reporter.status.is_idle and self._side_work.is_idle):
            return False
        counts = session.queue.counts()
        if counts[Place.ACTIVE] or counts[Place.IN_FLIGHT]:
            return False
        return not counts[Place.BACKOFF] or all(
            queued.error_count >= _ERRORS_WAITED_FOR
            for queued in session.queue.pending()[Place.BACKOFF]
        )

    async def _has_caught_up(self) -> bool:
        try:
            for watch in self._watches:
                if not await has_caught_up(self._client, watch):
                    return False
        except MoorageError as error:
            _logger.debug("Cannot tell whether everything was seen: %s", error)
            return False
        return True
