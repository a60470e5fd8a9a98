"""The life of the process: start, schedule, stop.

::

    probe -> plugins start -> caches sync -> pods are scheduled --stop--> bindings end or are undone
      |           |                                                          -> plugins close -> over
      +-----------+---> an error that ends the start, raised by `run`
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
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
from moorage.model.pod_info import PodInfo
from moorage.queueing import Place
from moorage.runner.idleness import Idleness
from moorage.runner.on_their_way import OnTheirWay
from moorage.runner.oversight import Oversight
from moorage.runner.patience import Patience
from moorage.runner.process import stopping_by_signals, threadsafe
from moorage.runner.side_work import SideWork
from moorage.runner.watching import (
    BUDGET,
    POD_SELECTOR,
    SILENCE_LIMIT,
    Watch,
    cluster_reflectors,
    declared_watches,
    informed_watches,
)
from moorage.serving import Inspected
from moorage.session import Failure, Session

__all__ = ["Runner"]

_logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.02


class Runner:
    """Schedules the pods of some profiles on one cluster: ``await Runner(...).run()``.

    `frameworks` are by profile name and all made with `services`, which the runner fills in; their
    clock is monotonic. `grace` is how long bindings in flight may take after `stop`, in seconds.
    With `handle_signals`, SIGTERM, SIGHUP and SIGINT stop it. `limit` throttles requests.
    `oversight` says when it may schedule. A watch that is silent for `silence_limit` seconds is
    taken for dead. A runner runs once.
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
        oversight: Oversight | None = None,
        silence_limit: float = SILENCE_LIMIT,
    ) -> None:
        self._frameworks = dict(frameworks)
        self._services = services
        self._connection = connection
        self._queue_times = (initial_backoff, max_backoff, unschedulable_timeout)
        self._grace = grace
        self._limit = limit
        self._handle_signals = handle_signals
        self._silence_limit = silence_limit
        self._oversight = oversight or Oversight()
        self._session: Session | None = None
        self._reporter: Reporter | None = None
        self._side_work: SideWork | None = None
        self._watches: list[Watch] = []
        self._on_their_way: OnTheirWay | None = None
        self._idleness: Idleness | None = None
        self._synced = asyncio.Event()
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def session(self) -> Session:
        """The state of scheduling, for people to look at; RuntimeError before plugins have started."""
        if self._session is None:
            raise RuntimeError("there is no session before the plugins have started")
        return self._session

    @property
    def inspected(self) -> Inspected | None:
        """What there is to look at, from any thread; None before plugins have started."""
        session, loop = self._session, self._loop
        if session is None or loop is None:
            return None
        return Inspected(
            loop, session.queue, session.cluster, session.record.attempts, self._services.clock
        )

    @property
    def is_synced(self) -> bool:
        """Whether all that is watched has been listed once."""
        return self._synced.is_set()

    @property
    def is_stopping(self) -> bool:
        """Whether no more cycles begin."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Begin no more cycles; `run` returns when bindings in flight have ended or were undone."""
        self._stopping.set()
        self._wake.set()

    async def run(self) -> None:
        """Schedule until stopped.

        Raises what ends a start: ApiError, UnreachableError, KubeconfigError of the first requests,
        PluginError of a plugin that does not start. Raises LeadershipLostError where another
        replica may take over.
        """
        self._loop = asyncio.get_running_loop()
        try:
            async with AsyncExitStack() as stack:
                if self._handle_signals:
                    busy = self._services.activity.at_work
                    stack.enter_context(stopping_by_signals(self.stop, busy=busy))
                client = ApiClient(
                    self._connection,
                    limit=self._limit,
                    gate=self._oversight.gate,
                    metrics=self._services.metrics,
                )
                await stack.enter_async_context(client)
                if await self._has_started(client, stack):
                    # Before plugins are closed: another replica need not wait for that.
                    stack.push_async_callback(self._oversight.release)
                    await self._work()
        finally:
            self._over.set()

    async def until_idle(self) -> None:
        """Return when nothing more can happen unless somebody else does something, or `run` ended.

        That is: all that the API server holds has been seen, every pod of ours is bound, refused,
        gated, or failed several times in a row, and all that is to be written about them is written.
        """
        patience = Patience()
        while not self._over.is_set():
            if self._idleness is None or self._reporter is None:
                patience.look(None, lambda: ["the plugins to start"])
            elif await self._idleness.is_reached():
                await self._reporter.flush(self._grace)
                return
            else:
                patience.look(self._idleness.standing(), self._idleness.reasons)
            await asyncio.sleep(_POLL_SECONDS)

    # Start

    async def _has_started(self, client: ApiClient, stack: AsyncExitStack) -> bool:
        """Start, but for as long as nobody stops: a server that hangs must not hold up an exit."""
        start = asyncio.create_task(self._start(client, stack))
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({start, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            start.cancel()
            stopped.cancel()
            await asyncio.gather(start, stopped, return_exceptions=True)
        if start.cancelled():
            return False
        start.result()
        return True

    async def _start(self, client: ApiClient, stack: AsyncExitStack) -> None:
        services = self._services
        services.client = client
        self._reporter = reporter = Reporter(client, self._frameworks, newest=self._newest)
        services.events = threadsafe(reporter.event)
        self._side_work = side_work = SideWork()
        services.spawn = side_work.spawn
        self._measure(reporter)
        reflectors = cluster_reflectors(
            client, self._frameworks.values(), silence_limit=self._silence_limit
        )
        for reflector in reflectors:
            await reflector.probe()
        started: list[Framework] = []
        stack.push_async_callback(self._close, started)
        for framework in self._frameworks.values():
            started.append(framework)
            await framework.start()
        self._session = session = self._new_session()
        services.activate = threadsafe(services.activate)
        pods, nodes, namespaces = reflectors
        self._watches = [
            Watch(nodes, session.nodes),
            Watch(namespaces, session.namespaces),
            *await declared_watches(client, session, silence_limit=self._silence_limit),
            *await informed_watches(client, session, silence_limit=self._silence_limit),
            Watch(pods, session.pods, POD_SELECTOR),
        ]
        self._idleness = Idleness(
            session,
            client,
            self._watches,
            reporter=reporter,
            side_work=side_work,
            reservations=lambda: self._reservations,
        )

    def _new_session(self) -> Session:
        initial, longest, timeout = self._queue_times
        return Session(
            self._frameworks,
            self._services,
            initial_backoff=initial,
            max_backoff=longest,
            unschedulable_timeout=timeout,
            on_ready=self._wake.set,
            on_gated=self._report_gated,
            on_skipped=self._report_skipped,
        )

    async def _work(self) -> None:
        """Do everything at once until stopped.

        None of the tasks raises for what a server or a plugin does; a fault of ours ends them all.
        """
        assert self._reporter is not None  # noqa: S101 - the start has made it
        oversight = self._oversight
        threads = DaemonThreads()
        binder = Binder(threads, self._reporter.announce, self._reporter.hush)
        try:
            async with asyncio.TaskGroup() as group:
                background = [
                    group.create_task(oversight.heartbeat.beat()),
                    group.create_task(oversight.until_lost()),
                    group.create_task(self._reporter.run()),
                ]
                if oversight.delay_cache:
                    await self._unless_stopped(group, oversight.until_leading())
                background += [group.create_task(watch.run()) for watch in self._watches]
                await self._unless_stopped(group, self._all_synced())
                await self._unless_stopped(group, oversight.until_leading())
                await self._schedule(
                    OnTheirWay(self.session, binder, self._reporter, group, self._report)
                )
                await self._wind_up()
                for task in background:
                    task.cancel()
        except BaseExceptionGroup as group_of:
            known = group_of.subgroup(MoorageError)
            if known is None:
                raise
            raise known.exceptions[0] from None
        finally:
            threads.close()

    async def _unless_stopped(
        self, group: asyncio.TaskGroup, what: Coroutine[Any, Any, None]
    ) -> None:
        """Wait for something, but no longer than until `stop`."""
        stopped = group.create_task(self._stopping.wait())
        done = group.create_task(what)
        await asyncio.wait({stopped, done}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        done.cancel()

    async def _all_synced(self) -> None:
        """Wait for the first list of everything: with half of the nodes, pods would go wrong."""
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

    async def _schedule(self, on_their_way: OnTheirWay) -> None:
        """Try one pod after the other, as long as there are any, with pauses for everything else."""
        session, self._on_their_way = self.session, on_their_way
        while not self._stopping.is_set():
            self._wake.clear()
            session.tick()
            until = time.perf_counter() + BUDGET
            outcome = session.attempt()
            while outcome is not None:
                if isinstance(outcome, Failure):
                    self._report(outcome)
                else:
                    on_their_way.begin(outcome)
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

    def _report(self, failure: Failure) -> None:
        self._wake.set()
        if failure.place is not Place.OUTSIDE and self._reporter is not None:
            self._reporter.unscheduled(
                failure.info,
                reason=failure.reason,
                message=failure.message,
                nomination=failure.nomination,
                announced=failure.announced,
            )

    def _report_gated(self, failure: Failure) -> None:
        if self._reporter is not None:
            self._reporter.gated(failure.info, reason=failure.reason, message=failure.message)

    def _report_skipped(self, info: PodInfo) -> None:
        if self._reporter is not None:
            self._reporter.skipped(info)

    def _newest(self, uid: str) -> PodInfo | None:
        return None if self._session is None else self._session.pods.known(uid)

    # The end

    async def _wind_up(self) -> None:
        """Let bindings in flight end, undo those that do not, and write what is to be written."""
        begun = time.monotonic()
        if self._on_their_way is not None:
            await self._on_their_way.finish(self._services.waiting, self._grace)
        if self._side_work is not None:
            left = await self._side_work.finish(max(0.1, self._grace - (time.monotonic() - begun)))
            if left:
                _logger.warning("Stopped with %d calls of plugins cut short", left)
        if self._reporter is not None:
            await self._reporter.flush(max(0.1, self._grace - (time.monotonic() - begun)))

    def _measure(self, reporter: Reporter) -> None:
        """Have the numbers of what is on its way read from here."""
        families = self._services.metrics.scheduling
        families.goroutines.read_from(lambda: {("binding",): len(self._reservations)})
        families.pending_api_calls.read_from(
            lambda: {("pod_status_patch",): reporter.status.unfinished}
        )

    async def _close(self, frameworks: Sequence[Framework]) -> None:
        """Close the plugins of profiles side by side: together they may take as long as one."""
        await asyncio.gather(*map(self._close_profile, reversed(frameworks)))

    async def _close_profile(self, framework: Framework) -> None:
        """Close the plugins of a profile, but for no longer than bindings may take."""
        try:
            async with asyncio.timeout(self._grace):
                await framework.close(partial(log_fault, _logger))
        except TimeoutError:
            _logger.warning(
                "Plugins of profile %r did not close within %g seconds",
                framework.profile_name,
                self._grace,
            )

    @property
    def _reservations(self) -> Collection[Reservation]:
        return () if self._on_their_way is None else self._on_their_way.reservations
