"""The scheduler in virtual time: the real session, feeds, binder and writers, one step at a time."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Mapping
from types import coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import numpy as np
from tests.faults.simulated_api import SimulatedApi, Stream
from tests.loop_kit import PROFILE, Clock, make_framework

import moorage
from moorage.api.writing import Condition, bind, pod_status_patch
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.binding.status_writer import StatusWriter
from moorage.errors import ApiError, LostAnswerError, UnreachableError
from moorage.framework.handle import Services
from moorage.framework.verdict import Verdict
from moorage.queueing import Place
from moorage.session import Failure, Session
from moorage_builtin.node_affinity import NodeAffinity
from moorage_builtin.node_resources_fit import NodeResourcesFit
from moorage_builtin.node_unschedulable import NodeUnschedulable
from moorage_builtin.priority_sort import PrioritySort
from moorage_builtin.scheduling_gates import SchedulingGates

if TYPE_CHECKING:
    from moorage.api.client import ApiClient

__all__ = ["ANSWERED", "LOST_AFTER", "LOST_BEFORE", "REFUSED", "UNREACHABLE", "Flight", "Scheduler"]

ANSWERED, LOST_AFTER, LOST_BEFORE, UNREACHABLE, REFUSED = range(5)
"""What becomes of a request: done and answered; done, the answer lost; lost on the way; no
connection; a 503."""


class _Call(NamedTuple):
    """A request that waits to be answered."""

    method: str
    path: str
    body: Any


class _Pause(NamedTuple):
    """A task that waits for time to pass."""

    seconds: float


@coroutine
def _suspended(what: object) -> Generator[object, Any, Any]:
    """Hand something to whoever drives the coroutine, and return what comes back."""
    return (yield what)


class _Client:
    """An `ApiClient` as far as writes use one: each request waits for the driver."""

    metrics = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        **_: object,
    ) -> bytes:
        """Ask."""
        return cast("bytes", await _suspended(_Call(method, path, body)))


async def _pause(seconds: float) -> None:
    await _suspended(_Pause(seconds))


class VirtualBinder(moorage.Plugin):
    """DefaultBinder, with pauses in virtual time."""

    @moorage.hookimpl
    async def bind(self, pod: moorage.Pod, node_name: str) -> None:
        """Write the Binding; whether it happened is found out by reading."""
        metadata = pod.metadata
        await bind(
            self.handle.client,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            node=node_name,
            sleep=_pause,
        )


PLUGINS: Mapping[str, type[moorage.Plugin]] = {
    "SchedulingGates": SchedulingGates,
    "PrioritySort": PrioritySort,
    "NodeUnschedulable": NodeUnschedulable,
    "NodeAffinity": NodeAffinity,
    "NodeResourcesFit": NodeResourcesFit,
}


class Flight:
    """Something that goes on beside the scheduling, until its next wait."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self.waits_for: _Call | _Pause | None = None
        self.result: Any = None
        self.is_over = False

    def go_on(self, answer: object = None) -> None:
        """Run until the next wait, or the end; an exception is raised where it waits."""
        try:
            while True:
                if isinstance(answer, Exception):
                    waits_for = self._work.throw(answer)
                else:
                    waits_for = self._work.send(answer)
                answer = None
                self.waits_for = waits_for
                if waits_for is not None:  # `asyncio.sleep(0)` waits for nothing
                    return
        except StopIteration as stopped:
            self.result = stopped.value
            self.waits_for = None
            self.is_over = True


class Scheduler:
    """One process: its session on an API, what it has been told, and what it is about to write.

    Does what `moorage.runner` does, in the order in which it is told.
    """

    def __init__(
        self,
        api: SimulatedApi,
        plugins: Mapping[str, type[moorage.Plugin]] | None = None,
        *,
        clock: Clock | None = None,
        seed: int = 1,
    ) -> None:
        self.api = api
        self.clock = clock or Clock()
        self.client = cast("ApiClient", _Client())
        self.services = Services(
            clock=self.clock, generator=np.random.default_rng(seed), client=self.client
        )
        framework = make_framework(
            {**PLUGINS, **(plugins or {}), "VirtualBinder": VirtualBinder}, services=self.services
        )
        framework.register_events()
        self.gated: list[Failure] = []
        self.session = Session({PROFILE: framework}, self.services, on_gated=self.gated.append)
        self.status = StatusWriter(self.client, newest=self.session.pods.known, sleep=_pause)
        self._binder = Binder(DaemonThreads(), self._announce)
        self.streams = {name: Stream(api, name) for name in ("pods", "nodes")}
        self.parked: list[Reservation] = []
        self.flights: list[tuple[Flight, Reservation | None]] = []
        self.failures: list[Failure] = []
        self.flushed: set[str] = set()
        for name in ("nodes", "pods"):
            self.relist(name)

    async def _announce(self, reservation: Reservation) -> None:
        reservation.announced = reservation.node_name
        await self.status.nominate(reservation.info, reservation.node_name)

    # Watches

    def hear(self, resource: str, count: int = 10**9) -> None:
        """Be told the next changes of a resource."""
        self._feed(resource).take(self.streams[resource].next(count))

    def relist(self, resource: str) -> None:
        """Be told all there is."""
        self._feed(resource).take(self.streams[resource].relist())

    def _feed(self, resource: str) -> Any:  # noqa: ANN401 - a feed of any record
        watched = self.session.watched(resource)
        assert watched is not None
        return watched.feed

    # Cycles

    def attempt(self) -> bool:
        """Try the next pod; False: none is ready."""
        outcome = self.session.attempt()
        if outcome is None:
            return False
        if isinstance(outcome, Failure):
            self._report(outcome)
        elif outcome.waiting is not None:
            self.parked.append(outcome)
        else:
            self._take_off(outcome)
        return True

    def settle_permits(self) -> None:
        """Go on with the pods whose Permit is settled by now."""
        for reservation in list(self.parked):
            assert reservation.waiting is not None
            if reservation.waiting.verdict is not None:
                self.parked.remove(reservation)
                self._take_off(reservation)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and do what is due; tasks that pause wake up."""
        self.clock.now += seconds
        self.session.tick()
        for pods in self.session.queue.pending().values():
            self.flushed |= {queued.info.uid for queued in pods if queued.was_flushed}

    # Tasks

    def step(self, index: int, fate: int = ANSWERED) -> None:
        """Let a task go on: its request meets `fate`, its pause is over."""
        flight, reservation = self.flights[index]
        waits_for = flight.waits_for
        flight.go_on(self._exchange(waits_for, fate) if isinstance(waits_for, _Call) else None)
        if flight.is_over:
            del self.flights[index]
            self._land(flight, reservation)

    def _take_off(self, reservation: Reservation) -> None:
        session = self.session
        work = self._binder.bind(reservation, lambda: session.permitted(reservation))
        self._start(work, reservation)

    def _start(self, work: Coroutine[Any, Any, Any], reservation: Reservation | None) -> None:
        flight = Flight(work)
        flight.go_on()
        if flight.is_over:
            self._land(flight, reservation)
        else:
            self.flights.append((flight, reservation))

    def _land(self, flight: Flight, reservation: Reservation | None) -> None:
        if reservation is None:
            return
        verdict: Verdict = flight.result
        if verdict.is_success:
            self.session.bound(reservation)
        else:
            self._report(self.session.undo(reservation, verdict))

    def _exchange(self, call: _Call, fate: int) -> bytes | Exception:
        if fate == UNREACHABLE:
            return UnreachableError("connection refused")
        if fate == LOST_BEFORE:
            return LostAnswerError("the connection broke")
        if fate == REFUSED:
            return ApiError("overloaded", code=503, reason="ServiceUnavailable")
        try:
            answer = self.api.answer(*call)
        except ApiError as error:
            return error
        return LostAnswerError("the connection broke") if fate == LOST_AFTER else answer

    def _report(self, failure: Failure) -> None:
        self.failures.append(failure)
        if failure.place is not Place.OUTSIDE:
            self._start(self._write_status(failure), None)

    async def _write_status(self, failure: Failure) -> None:
        """Write what a pod's status is to say by the newest that is known."""
        while True:
            newest = self.session.pods.known(failure.info.uid)
            if newest is None or newest.pod.spec.node_name:
                return
            patch = pod_status_patch(
                [
                    msgspec.convert(msgspec.to_builtins(one), Condition)
                    for one in newest.pod.status.conditions
                ],
                Condition(
                    type="PodScheduled",
                    status="False",
                    reason=failure.reason,
                    message=failure.message,
                ),
                nominated_node_name=failure.nomination,
                nominated_before=newest.pod.status.nominated_node_name or failure.announced,
            )
            if patch is None:
                return
            try:
                path = f"/api/v1/namespaces/ns/pods/{newest.pod.metadata.name}/status"
                await self.client.request("PATCH", path, body=patch)
            except (ApiError, UnreachableError):
                continue
            return
