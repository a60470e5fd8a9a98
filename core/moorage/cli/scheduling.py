"""One run of the scheduler, for ever or until nothing more can happen, whatever cluster it is."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.pacing import TokenBucket
from moorage.cli.observing import ServingPlan, new_oversight, served
from moorage.cli.placements import bound_pods, count, print_outcome, read_outcome
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.handle import Services
from moorage.framework.profile import Framework
from moorage.runner import Runner
from moorage.runner.process import stopping_by_signals

__all__ = ["Job", "schedule_for_ever", "schedule_until_idle"]

Connect = Callable[[], Connection]
"""Makes a connection; one for each event loop, since it belongs to it."""

_UNSCHEDULABLE_SECONDS: Final = 300.0
_PROGRESS_SECONDS: Final = 0.1
_SETTLING_SECONDS: Final = 0.02


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done: frameworks by scheduler name, all made with `services`.

    `unschedulable_seconds`: when an unschedulable pod is tried again whatever happened.
    `output` is the format to print in, where `until_idle`. `elect`: schedule only while holding the
    Lease. `serving`: where to serve health and metrics; None: nowhere.
    """

    frameworks: Mapping[str, Framework]
    services: Services
    configuration: KubeSchedulerConfiguration
    unschedulable_seconds: float = _UNSCHEDULABLE_SECONDS
    until_idle: bool = False
    output: str = "table"
    elect: bool = False
    serving: ServingPlan | None = None

    @contextlib.contextmanager
    def runner(self, connect: Connect, *, handle_signals: bool = False) -> Iterator[Runner]:
        """Make the runner, for one run, and serve what is to be seen of it while the block lasts."""
        services = self.services
        oversight = new_oversight(self.configuration, services, connect, elect=self.elect)
        runner = Runner(
            self.frameworks,
            services,
            connect(),
            initial_backoff=float(self.configuration.pod_initial_backoff_seconds),
            max_backoff=float(self.configuration.pod_max_backoff_seconds),
            unschedulable_timeout=self.unschedulable_seconds,
            limit=self._limit(),
            handle_signals=handle_signals,
            oversight=oversight,
        )
        with served(self.serving, runner, services, oversight, connect):
            yield runner

    def _limit(self) -> TokenBucket | None:
        connection = self.configuration.client_connection
        if connection.qps <= 0:
            return None
        return TokenBucket(qps=connection.qps, burst=max(1, connection.burst), clock=time.monotonic)


def _at_rest() -> Hashable:
    return ()


async def schedule_for_ever(job: Job, connect: Connect) -> None:
    """Schedule until SIGTERM, SIGHUP or SIGINT. Raises what keeps the runner from starting, or ends it."""
    with job.runner(connect, handle_signals=True) as runner:
        await runner.run()


async def schedule_until_idle(
    job: Job,
    connect: Connect,
    *,
    only_new: bool = False,
    rest: Callable[[], Hashable | None] = _at_rest,
) -> None:
    """Schedule until nothing more can happen, and print what went where.

    With `only_new`, pods that were on nodes before and pods of other schedulers are not told about.
    While `rest` returns None, somebody else is about to change something; what it returns otherwise
    changes when somebody did. SIGTERM and SIGHUP end it early, as they do `schedule_for_ever`, and
    then nothing is printed.
    Raises what keeps the runner from starting.
    """
    async with ApiClient(connect()) as client:
        before = await bound_pods(client) if only_new else frozenset[str]()
        begun = time.perf_counter()
        told = asyncio.Event()

        def stop() -> None:
            told.set()
            runner.stop()

        busy = job.services.activity.at_work
        with job.runner(connect) as runner, stopping_by_signals(stop, interrupt=False, busy=busy):
            await _run_until_idle(runner, rest)
        if told.is_set():
            return
        outcome = await read_outcome(
            client,
            served=job.frameworks,
            seconds=time.perf_counter() - begun,
            before=before,
            foreign=not only_new,
        )
    print_outcome(outcome, job.output)


async def _run_until_idle(runner: Runner, rest: Callable[[], Hashable | None]) -> None:
    async with asyncio.TaskGroup() as group, _progress(runner):
        running = group.create_task(runner.run())
        while not running.done():
            before = rest()
            await runner.until_idle()
            # What changed while idleness was found out may not have been seen.
            if before is not None and rest() == before:
                break
            await asyncio.sleep(_SETTLING_SECONDS)
        runner.stop()


@contextlib.asynccontextmanager
async def _progress(runner: Runner) -> AsyncIterator[None]:
    """Show on a terminal how far it has come."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status("Starting") as status:

        async def follow() -> None:
            while True:
                await asyncio.sleep(_PROGRESS_SECONDS)
                with contextlib.suppress(RuntimeError):  # there is no session yet
                    status.update(_progress_line(runner))

        following = asyncio.create_task(follow())
        try:
            yield
        finally:
            following.cancel()


def _progress_line(runner: Runner) -> str:
    session = runner.session
    waiting = sum(session.queue.counts().values())
    return f"Scheduling: {count(session.cluster.pod_count, 'pod')} on nodes, {waiting:,} not yet"
