"""The pods that have a node, on their way to it: one task each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from moorage.binding import Binder, Reporter, Reservation
from moorage.fault_log import log_fault, worded
from moorage.framework.verdict import Verdict
from moorage.framework.waiting_pods import WaitingPods
from moorage.session import Failure, Session

__all__ = ["OnTheirWay"]

_logger = logging.getLogger(__name__)


class OnTheirWay:
    """Binds pods as tasks of a `group`; those that fail go back into the queue and to `on_failure`."""

    def __init__(
        self,
        session: Session,
        binder: Binder,
        reporter: Reporter,
        group: asyncio.TaskGroup,
        on_failure: Callable[[Failure], None],
    ) -> None:
        self._session = session
        self._binder = binder
        self._reporter = reporter
        self._group = group
        self._on_failure = on_failure
        self._tasks: dict[asyncio.Task[None], Reservation] = {}

    @property
    def reservations(self) -> Collection[Reservation]:
        """What is on its way."""
        return self._tasks.values()

    def begin(self, reservation: Reservation) -> None:
        """Start to bring a pod to its node."""
        task = self._group.create_task(self._bind(reservation))
        self._tasks[task] = reservation
        task.add_done_callback(self._tasks.pop)

    async def finish(self, waiting: WaitingPods, grace: float) -> None:
        """Let bindings end for `grace` seconds, and undo those that do not, or wait in Permit."""
        for task, reservation in self._tasks.items():
            # Nobody says how long a pod in Permit would wait.
            if waiting.get(reservation.info.uid) is not None:
                task.cancel()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
            _logger.warning("Stopped with %d pods on their way, now undone", len(late))

    async def _bind(self, reservation: Reservation) -> None:
        """Bring one pod from Permit to its node, or back into the queue."""
        session = self._session
        try:
            verdict = await self._binder.bind(reservation, lambda: session.permitted(reservation))
        except asyncio.CancelledError:
            reservation.undo()
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours must lose no pod and end no process
            log_fault(_logger, error)
            verdict = Verdict.error(worded(error))
        if not verdict.is_success:
            self._on_failure(session.undo(reservation, verdict))
            return
        session.bound(reservation)
        self._reporter.scheduled(reservation.queued.info, reservation.node_name)
        await self._binder.post_bind(reservation)
