"""The life of the process: start, schedule, stop.

::

    probe -> plugins start -> caches sync -> pods are scheduled --stop--> bindings end or are undone
      |           |                                                          -> plugins close -> over
      +-----------+---> an error that ends the start, raised by `run`
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import Any

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.pacing import TokenBucket
from moorage.binding import Binder, DaemonThreads, Reporter, Reservation
from moorage.errors import MoorageError
from moorage.fault_log import log_fault
from moorage.framework.handle import Services
from moorage.framework.profile import Framework
from moorage.framework.verdict import Verdict
from moorage.model.pod_info import PodInfo
from moorage.queueing import Place
from moorage.runner.catching_up import has_caught_up
from moorage.runner.watching import (
    BUDGET,
    POD_SELECTOR,
    Watch,
    cluster_reflectors,
    declared_watches,
    informed_reflectors,
)
from moorage.session import Failure, Session

__all__ = ["Runner"]

_logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.02
_ERRORS_WAITED_FOR = 3
"""After so many errors in a row, a pod's next try is not something that idling waits for."""


class Runner:
    """Schedules the pods of some profiles on one cluster: ``await Runner(...).run()``.

    `frameworks` are by profile name and all made with `services`, which the runner fills in; their
    clock is monotonic. `grace` is how long bindings in flight may take after `stop`, in seconds.
    With `handle_signals`, SIGTERM and SIGINT stop it. `limit` throttles requests. A runner runs once.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        services: Services,
        connection: Connection,
        *,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        unschedulable_timeout: float = 300.0,
        grace: float = 10.0,
        limit: TokenBucket | None = None,
        handle_signals: bool = False,
    ) -> None:
        self._frameworks = dict(frameworks)
        self._services = services
        self._connection = connection
        self._queue_times = (initial_backoff, max_backoff, unschedulable_timeout)
        self._grace = grace
        self._limit = limit
        self._handle_signals = handle_signals
        self._session: Session | None = None
        self._client: ApiClient | None = None
        self._reporter: Reporter | None = None
        self._watches: list[Watch] = []
        self._bindings: dict[asyncio.Task[None], Reservation] = {}
        self._synced = asyncio.Event()
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        self._wake = asyncio.Event()
        self._thread = 0

    @property
    def session(self) -> Session:
        """The state of scheduling, for people to look at; RuntimeError before plugins have started."""
        if self._session is None:
            raise RuntimeError("there is no session before the plugins have started")
        return self._session

    def stop(self) -> None:
        """Begin no more cycles; `run` returns when bindings in flight have ended or were undone."""
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Schedule until stopped.

        Raises what ends a start: ApiError, UnreachableError, KubeconfigError of the first requests,
        PluginError of a plugin that does not start.
        """
        self._thread = threading.get_ident()
        try:
            async with AsyncExitStack() as stack:
                stack.enter_context(self._signals())
                client = ApiClient(self._connection, limit=self._limit)
                await stack.enter_async_context(client)
                await self._start(client, stack)
                await self._work()
        finally:
            self._over.set()

    async def until_idle(self) -> None:
        """Return when nothing more can happen unless somebody else does something, or `run` ended.

        That is: all that the API server holds has been seen, every pod of ours is bound, refused,
        gated, or failed several times in a row, and all that is to be written about them is written.
        """
        while not self._over.is_set():
            if self._is_quiet() and await self._has_caught_up() and self._is_quiet():
                assert self._reporter is not None  # noqa: S101 - made before anything is quiet
                await self._reporter.flush(self._grace)
                return
            await asyncio.sleep(_POLL_SECONDS)

    # Start

    async def _start(self, client: ApiClient, stack: AsyncExitStack) -> None:
        services = self._services
        self._client = services.client = client
        self._reporter = reporter = Reporter(client, self._frameworks, newest=self._newest)
        services.events = self._threadsafe(reporter.event)
        reflectors = cluster_reflectors(client, self._frameworks.values())
        for reflector in reflectors:
            await reflector.probe()
        for framework in self._frameworks.values():
            stack.push_async_callback(framework.close, partial(log_fault, _logger))
            await framework.start()
        initial, longest, timeout = self._queue_times
        self._session = session = Session(
            self._frameworks,
            services,
            initial_backoff=initial,
            max_backoff=longest,
            unschedulable_timeout=timeout,
            on_ready=self._wake.set,
        )
        services.activate = self._threadsafe(services.activate)
        pods, nodes, namespaces = reflectors
        self._watches = [
            Watch(nodes, session.nodes),
            Watch(namespaces, session.namespaces),
            *await declared_watches(client, session),
            *(
                Watch(reflector, session.informed(informer))
                for informer, reflector in await informed_reflectors(client, session)
            ),
            Watch(pods, session.pods, POD_SELECTOR),
        ]

    async def _work(self) -> None:
        """Do everything at once until stopped.

        None of the tasks raises for what a server or a plugin does; a fault of ours ends them all.
        """
        assert self._reporter is not None  # noqa: S101 - the start has made it
        threads = DaemonThreads()
        binder = Binder(threads, self._reporter.announce)
        try:
            async with asyncio.TaskGroup() as group:
                background = [
                    group.create_task(self._reporter.run()),
                    *(group.create_task(watch.run()) for watch in self._watches),
                ]
                await self._until_synced(group)
                await self._schedule(group, binder)
                await self._wind_up()
                for task in background:
                    task.cancel()
        finally:
            threads.close()

    async def _until_synced(self, group: asyncio.TaskGroup) -> None:
        """Wait for the first list of everything: with half of the nodes, pods would go wrong."""
        stopped = group.create_task(self._stopping.wait())
        synced = group.create_task(self._all_synced())
        await asyncio.wait({stopped, synced}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        synced.cancel()

    async def _all_synced(self) -> None:
        for watch in self._watches:
            await watch.reflector.synced.wait()
        for informer in self._services.informers:
            informer.synced = True
        _logger.info(
            "Caches are synced: %d nodes, %d pods on them",
            self.session.cluster.node_count,
            self.session.cluster.pod_count,
        )
        self._synced.set()

    # Scheduling

    async def _schedule(self, group: asyncio.TaskGroup, binder: Binder) -> None:
        """Try one pod after the other, as long as there are any, with pauses for everything else."""
        session = self.session
        while not self._stopping.is_set():
            self._wake.clear()
            session.tick()
            until = time.perf_counter() + BUDGET
            outcome = session.attempt()
            while outcome is not None:
                self._act(outcome, group, binder)
                if self._stopping.is_set() or time.perf_counter() >= until:
                    break
                outcome = session.attempt()
            if outcome is None:
                await self._until_ready()
            else:
                await asyncio.sleep(0)

    async def _until_ready(self) -> None:
        due = self.session.next_at()
        seconds = None if due is None else max(0.0, due - self._services.clock())
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    def _act(
        self, outcome: Reservation | Failure, group: asyncio.TaskGroup, binder: Binder
    ) -> None:
        if isinstance(outcome, Failure):
            self._report(outcome)
            return
        task = group.create_task(self._bind(outcome, binder))
        self._bindings[task] = outcome
        task.add_done_callback(self._bindings.pop)

    async def _bind(self, reservation: Reservation, binder: Binder) -> None:
        """Bring one pod from Permit to its node, or back into the queue."""
        session = self.session
        try:
            verdict = await binder.bind(reservation, lambda: session.permitted(reservation))
        except asyncio.CancelledError:
            reservation.undo()
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours must lose no pod and end no process
            log_fault(_logger, error)
            verdict = Verdict.error(f"{type(error).__name__}: {error}")
        if not verdict.is_success:
            self._report(session.undo(reservation, verdict))
            return
        session.bound(reservation)
        if self._reporter is not None:
            self._reporter.scheduled(reservation.queued.info, reservation.node_name)
        await binder.post_bind(reservation)

    def _report(self, failure: Failure) -> None:
        self._wake.set()
        if failure.place is not Place.OUTSIDE and self._reporter is not None:
            self._reporter.unscheduled(
                failure.info,
                reason=failure.reason,
                message=failure.message,
                nomination=failure.nomination,
            )

    def _newest(self, uid: str) -> PodInfo | None:
        return None if self._session is None else self._session.pods.known(uid)

    # The end

    async def _wind_up(self) -> None:
        """Let bindings in flight end, undo those that do not, and write what is to be written."""
        begun = time.monotonic()
        for task, reservation in self._bindings.items():
            # Nobody says how long a pod in Permit would wait.
            if self._services.waiting.get(reservation.info.uid) is not None:
                task.cancel()
        if self._bindings:
            _, late = await asyncio.wait(self._bindings, timeout=self._grace)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
                _logger.warning("Stopped with %d pods on their way, now undone", len(late))
        if self._reporter is not None:
            await self._reporter.flush(max(0.1, self._grace - (time.monotonic() - begun)))

    # Idleness

    def _is_quiet(self) -> bool:
        """Say whether nothing is going on in here."""
        if not self._synced.is_set() or self._bindings or self.session.cluster.assumed_count:
            return False
        if self._reporter is None or not self._reporter.status.is_idle:
            return False
        counts = self.session.queue.counts()
        if counts[Place.ACTIVE] or counts[Place.IN_FLIGHT]:
            return False
        return not counts[Place.BACKOFF] or all(
            queued.error_count >= _ERRORS_WAITED_FOR
            for queued in self.session.queue.pending()[Place.BACKOFF]
        )

    async def _has_caught_up(self) -> bool:
        assert self._client is not None  # noqa: S101 - nothing is quiet before there is one
        try:
            for watch in self._watches:
                if not await has_caught_up(self._client, watch):
                    return False
        except MoorageError as error:
            _logger.debug("Cannot tell whether everything was seen: %s", error)
            return False
        return True

    # The process

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if not self._handle_signals:
            yield
            return
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._stop_by, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _stop_by(self, number: signal.Signals) -> None:
        _logger.info("Received %s, shutting down", number.name)
        self.stop()

    def _threadsafe(self, function: Callable[..., None]) -> Callable[..., Any]:
        """Return a call that plugins may make from their threads too; the loop's own runs it."""
        loop = asyncio.get_running_loop()

        def call(*arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on
            if threading.get_ident() == self._thread:
                function(*arguments, **named)
            else:
                loop.call_soon_threadsafe(lambda: function(*arguments, **named))

        return call
