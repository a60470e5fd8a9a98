"""Two claims never have one device, whatever becomes of writes, and however late the watch is."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import Any, cast

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.builtin.dynamic_resources.devices_kit import (
    claim,
    device_class,
    gpu_slice,
    pod,
    request,
)
from tests.builtin.dynamic_resources.loop import PROFILES, Loop
from tests.builtin.dynamic_resources.simulated_claims import Fate, SimulatedClaims

from moorage.api.client import ApiClient
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.framework.verdict import Verdict
from moorage.model import Pod
from moorage.session import Failure

CLAIMS = ("c0", "c1", "c2", "c3", "pair")
FATES = st.sampled_from([*[Fate.ANSWERED] * 5, *Fate])
places = st.integers(0, 7)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes when told."""

    now = 1000.0

    def time(self) -> float:
        """Return the time."""
        return self.now


async def _announced(_: Reservation) -> None:
    """Write nothing: nominations are not the subject."""


class Promises(RuleBasedStateMachine):
    """Two profiles, two nodes with two devices each, five claims, and pods that use them."""

    def __init__(self) -> None:
        super().__init__()
        self.events = VirtualLoop()
        self.threads = DaemonThreads()
        self.binder = Binder(self.threads, _announced)
        self.api = SimulatedClaims()
        self.loop = Loop("n0", "n1")
        self.loop.services.client = cast("ApiClient", self.api)
        self.loop.services.spawn = self._spawn
        self.pods: dict[str, Pod] = {}
        self.bound: set[str] = set()
        self.flights: dict[str, tuple[Reservation, asyncio.Task[Verdict]]] = {}
        self.beside: set[asyncio.Task[None]] = set()
        self.numbers = itertools.count()
        self.loop.tell(device_class())
        for node in ("n0", "n1"):
            self.loop.tell(gpu_slice(node, "g0", "g1"))
        for name in CLAIMS:
            asked = [request(count=2)] if name == "pair" else []
            self.api.put(claim(name, *asked))
            self.watch_tells(name)

    def teardown(self) -> None:
        """End what is under way."""
        tasks = [*(task for _, task in self.flights.values()), *self.beside]
        for task in tasks:
            task.cancel()
        if tasks:
            self.events.run_until_complete(asyncio.wait(tasks))
        self.events.close()
        self.threads.close()

    # What happens

    @rule(
        claims=st.sets(st.sampled_from(CLAIMS), min_size=1, max_size=2),
        profile=st.sampled_from(PROFILES),
    )
    def a_pod_comes(self, claims: set[str], profile: str) -> None:
        """Be told of a pod that uses claims."""
        name = f"p{next(self.numbers)}"
        self.pods[name] = pod(name, *sorted(claims), scheduler=profile)
        self.loop.tell(self.pods[name])

    @rule(claims=st.permutations(CLAIMS), count=st.integers(2, 4), first=st.sampled_from([0, 1]))
    def several_pods_are_on_their_way(self, claims: list[str], count: int, first: int) -> None:
        """Be told of pods of both profiles, and try them before anything is written."""
        for index in range(count):
            self.a_pod_comes({claims[index]}, PROFILES[(first + index) % 2])
        for _ in range(count):
            self.the_next_pod_is_tried()

    @rule()
    def the_next_pod_is_tried(self) -> None:
        """Decide, and begin to bind."""
        outcome = self.loop.attempt()
        if isinstance(outcome, Reservation):
            task = self.events.create_task(
                self.binder.bind(outcome, lambda: self.loop.session.permitted(outcome))
            )
            self.flights[outcome.info.pod.metadata.name] = (outcome, task)
        self._run()

    @precondition(lambda self: self.api.calls)
    @rule(place=places, fate=FATES)
    def a_request_is_settled(self, place: int, fate: Fate) -> None:
        """One of them, in any order."""
        self.api.settle(place % len(self.api.calls), fate)
        self._run()

    @rule(told=st.booleans())
    def for_a_while_all_goes_well(self, told: bool) -> None:  # noqa: FBT001 - drawn
        """Answer whatever is asked, and try whoever is ready; the watch may be behind."""
        for _ in range(10):
            while self.api.calls:
                self.api.settle(0, Fate.ANSWERED)
                self._run()
            self.the_next_pod_is_tried()
        for name in CLAIMS if told else ():
            self.watch_tells(name)

    @precondition(lambda self: self.api.late)
    @rule(place=places)
    def a_request_arrives_late(self, place: int) -> None:
        """Its client has been told that nobody answers."""
        self.api.arrive_late(place % len(self.api.late))

    @precondition(lambda self: self.api.late)
    @rule()
    def late_requests_are_given_up(self) -> None:
        """Let a minute pass, after which an API server lets none of them in any more."""
        self.api.late.clear()
        self._pass(130.0)

    @rule(name=st.sampled_from(CLAIMS))
    def watch_tells(self, name: str) -> None:
        """Of one claim, as it is now."""
        stored = self.api.claim(name)
        watched = self.loop.session.watched("resourceclaims")
        assert stored is not None
        assert watched is not None
        watched.feed.put(stored)

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0]))
    def time_passes(self, seconds: float) -> None:
        """Backoffs end, and whoever waits before asking again asks."""
        self._pass(seconds)

    @precondition(lambda self: self.bound)
    @rule(place=places)
    def a_pod_ends(self, place: int) -> None:
        """Its claims are given back by their controller."""
        name = sorted(self.bound)[place % len(self.bound)]
        self.bound.discard(name)
        for reference in self.pods[name].spec.resource_claims:
            self.api.free(reference.resource_claim_name or "", user=name)
        self.loop.tell_gone(self.pods[name])

    # What holds

    @invariant()
    def no_device_is_in_two_claims(self) -> None:
        """In the API server, which is what drivers act on."""
        users = Counter(
            result.id
            for name in CLAIMS
            if (stored := self.api.claim(name)) is not None
            for result in stored.results
        )
        assert all(count == 1 for count in users.values()), users

    @invariant()
    def ledger_counts_what_it_should(self) -> None:
        """And gives nothing away twice."""
        ledger = self.loop.ledger
        ledger.check_invariants()
        assert all(len(set(uids)) == 1 for uids in ledger.holders().values())

    @invariant()
    def bound_pods_have_their_devices(self) -> None:
        """Each of their claims is allocated, and reserved for them."""
        for name in self.bound:
            for reference in self.pods[name].spec.resource_claims:
                stored = self.api.claim(reference.resource_claim_name or "")
                assert stored is not None
                assert stored.status.allocation is not None
                assert name in {one.uid for one in stored.status.reserved_for}

    # Inside

    def _spawn(self, work: Any) -> bool:  # noqa: ANN401 - a coroutine
        task = self.events.create_task(work)
        self.beside.add(task)
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.beside.discard(task)
        if not task.cancelled():
            task.exception()  # is logged by the runner; here it is just not lost

    def _pass(self, seconds: float) -> None:
        self.loop.now += seconds
        self.events.now += seconds
        self.loop.session.tick()
        self._run()

    def _run(self) -> None:
        """Let everybody go on who can."""
        for _ in range(20):
            self.events.run_until_complete(asyncio.sleep(0))
        for name, (reservation, task) in list(self.flights.items()):
            if task.done():
                del self.flights[name]
                verdict = task.result()
                if verdict.is_success:
                    self.loop.session.bound(reservation)
                    self.bound.add(name)
                else:
                    failure = self.loop.session.undo(reservation, verdict)
                    assert isinstance(failure, Failure)
        for _ in range(5):
            self.events.run_until_complete(asyncio.sleep(0))


def test_request_that_arrives_late_finds_its_devices_held_back() -> None:
    """Its pod has failed long ago, and another wants the device."""
    state = Promises()
    state.loop.tell_gone(gpu_slice("n1", "g0"))
    state.loop.tell(gpu_slice("n0", "g0"))
    state.a_pod_comes({"c0"}, PROFILES[0])
    state.the_next_pod_is_tried()
    state.a_request_is_settled(0, Fate.ANSWERED)  # the finalizer
    state.a_request_is_settled(0, Fate.LATE)
    state.time_passes(0.5)
    state.a_request_is_settled(0, Fate.ANSWERED)  # how the claim is
    state.a_request_is_settled(0, Fate.REFUSED)
    state.time_passes(0.5)
    assert not state.flights

    state.a_pod_comes({"c1"}, PROFILES[1])
    state.for_a_while_all_goes_well(told=True)
    state.a_request_arrives_late(0)
    state.no_device_is_in_two_claims()
    state.teardown()


TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=25, stateful_step_count=50, deadline=None)
