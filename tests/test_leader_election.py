"""Who leads, in virtual time and with threads, against an API server over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.api_proxy import ApiProxy

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.gate import WriteGate
from moorage.embedded import EmbeddedApiServer
from moorage.errors import KubeconfigError
from moorage.metrics import Metrics
from moorage.serving.elector import Elector, Terms
from moorage.serving.leadership import Leadership, new_identity
from moorage.serving.lease import LeaseLock, ObservedLease

WRITES = Path(__file__).parent / "data" / "wire" / "kube-scheduler-writes-1.36.json"
TERMS = Terms()
FAST = Terms(lease_duration=2.0, renew_deadline=1.0, retry_period=0.1)
BEGINNING = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)


class Time:
    """Steady seconds that pass when somebody sleeps, and the time of day."""

    def __init__(self) -> None:
        self.now = 100.0
        self.at: dict[float, Callable[[], None]] = {}

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now

    def wall(self) -> datetime:
        """Return the time of day."""
        return BEGINNING + timedelta(seconds=self.now)

    async def sleep(self, seconds: float) -> None:
        """Let time pass, and do what is to be done meanwhile."""
        self.now += seconds
        for moment in [moment for moment in self.at if moment <= self.now]:
            self.at.pop(moment)()


class World:
    """An API server and replicas that share one clock."""

    def __init__(self, server: EmbeddedApiServer, client: ApiClient) -> None:
        self.server = server
        self.client = client
        self.time = Time()
        self.told: list[str] = []

    def replica(self, identity: str, **options: Any) -> tuple[Elector, WriteGate]:  # noqa: ANN401 - any option
        """Make a replica, and the gate of its writes."""
        gate = WriteGate(self.time)

        def tell(_: ObservedLease, what: str) -> None:
            self.told.append(what)

        lock = LeaseLock(
            self.client,
            namespace=TERMS.namespace,
            name=TERMS.name,
            timeout=TERMS.request_timeout,
            wall=self.time.wall,
        )
        elector = Elector(
            lock,
            TERMS,
            identity=identity,
            gate=gate,
            on_event=tell,
            clock=self.time,
            sleep=self.time.sleep,
            rng=random.Random(1),
            **options,
        )
        return elector, gate

    def lease(self) -> dict[str, Any]:
        """Return what the Lease says."""
        found: dict[str, Any] = self.server.store.get(
            "leases.coordination.k8s.io", "moorage", namespace="kube-system"
        )["spec"]
        return found


@asynccontextmanager
async def new_world() -> AsyncIterator[World]:
    """Start a server."""
    async with (
        EmbeddedApiServer() as server,
        ApiClient(Connection.to_url(server.url)) as client,
    ):
        yield World(server, client)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Start a server."""
    async with new_world() as world:
        yield world


async def test_first_replica_leads_and_second_stands_by(world: World) -> None:
    """One Lease, one holder; only its writes go out."""
    (first, gate), (second, other) = world.replica("a"), world.replica("b")
    assert await first.step()
    assert not await second.step()
    assert (gate.is_open, other.is_open) == (True, False)
    assert second.holder == "a"
    assert world.lease()["holderIdentity"] == "a"


async def test_lease_that_is_not_renewed_is_taken_after_its_duration(world: World) -> None:
    """Fifteen seconds after the other one was *seen* last, whatever its clock says; and not before."""
    (first, gate), (second, other) = world.replica("a"), world.replica("b")
    assert await first.step()
    assert not await second.step()
    world.time.now += TERMS.lease_duration - 0.001
    assert not await second.step()
    assert not gate.is_open
    world.time.now += 0.001
    assert await second.step()
    assert other.is_open
    assert world.lease()["leaseTransitions"] == 1
    assert not await first.step()
    assert not gate.is_open


async def test_gates_are_never_open_together(world: World) -> None:
    """Whatever the moments at which two replicas try, and stop trying for a while."""
    rng = random.Random(7)
    replicas = [world.replica("a"), world.replica("b")]
    silent = [0.0, 0.0]
    leaders = set()
    for _ in range(150):
        world.time.now += rng.choice((0.3, 1.0, 2.0))
        for index, (elector, _) in enumerate(replicas):
            if rng.random() < 0.08:
                silent[index] = world.time.now + rng.uniform(1, 30)
            if world.time.now >= silent[index] and await elector.step():
                leaders.add(elector.identity)
            assert sum(gate.is_open for _, gate in replicas) <= 1
    assert leaders == {"a", "b"}


async def test_leader_renews_every_retry_period(world: World) -> None:
    """At once after it became leader, then every two seconds."""
    alive = iter([True] * 4 + [False])
    elector, _ = world.replica("a", is_alive=lambda: next(alive))
    await elector.acquire()
    begun = world.time.now
    assert await elector.keep() == "the scheduling loop hangs"
    assert world.time.now - begun == 4 * TERMS.retry_period
    assert world.told == ["a became leader", "a stopped leading"]


async def test_leader_that_cannot_renew_gives_up_before_others_can_take(world: World) -> None:
    """Ten seconds after its last renewal began its writes end; others wait for fifteen."""
    elector, gate = world.replica("a")
    await elector.acquire()
    renewed = world.time.now
    await world.client.__aexit__(None, None, None)
    world.client._connection = Connection.to_url("http://127.0.0.1:1")
    await world.client.__aenter__()
    reason = await elector.keep()
    assert reason == "it could not be renewed for 10 s"
    assert world.time.now - renewed == pytest.approx(TERMS.renew_deadline)
    assert not gate.is_open
    assert not elector.leads


async def test_leader_whose_lease_was_taken_stops_at_once(world: World) -> None:
    """Somebody wrote another name into it: to go on writing would be wrong."""
    elector, gate = world.replica("a")
    await elector.acquire()
    lease = world.server.store.get("leases.coordination.k8s.io", "moorage", namespace="kube-system")
    lease["spec"]["holderIdentity"] = "thief"
    world.server.store.update(lease)
    assert await elector.keep() == "thief has taken it"
    assert not gate.is_open


async def test_lease_that_was_given_back_is_taken_at_once(world: World) -> None:
    """A replica that ends in good order makes nobody wait."""
    (first, gate), (second, _) = world.replica("a"), world.replica("b")
    await first.acquire()
    assert not await second.step()
    await first.release()
    assert not gate.is_open
    lease = world.lease()
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("", 1)
    assert await second.step()


async def test_lease_is_given_back_after_a_renewal_that_was_not_answered(world: World) -> None:
    """It had arrived, so that what is known of the Lease is out of date."""
    elector, _ = world.replica("a")
    await elector.acquire()
    known = elector._observed
    assert await elector.step()
    elector._observed = known
    await elector.release()
    assert world.lease()["holderIdentity"] == ""


async def test_lease_that_is_about_to_be_taken_is_given_back(world: World) -> None:
    """Stopped in the middle of its first request, it finds out what became of it."""
    elector, gate = world.replica("a")
    acquiring = asyncio.create_task(elector.acquire())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    acquiring.cancel()
    await asyncio.wait({acquiring})
    await elector.release()
    assert world.lease()["holderIdentity"] == ""
    assert not gate.is_open


async def test_standing_by_spreads_requests(world: World) -> None:
    """Between one and 2.2 retry periods, so that replicas do not come together."""
    (first, _), (second, _) = world.replica("a"), world.replica("b")
    await first.step()
    begun = world.time.now
    await second.acquire()
    assert TERMS.lease_duration <= world.time.now - begun <= TERMS.lease_duration + 4.4


# What is written


def plain(body: dict[str, Any]) -> dict[str, Any]:
    """Replace what differs from run to run."""
    changing = {"uid", "resourceVersion", "creationTimestamp", "acquireTime", "renewTime"}
    changing |= {"holderIdentity", "firstTimestamp", "lastTimestamp", "message"}

    def walk(value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {name: walk(inner, name) for name, inner in value.items()}
        return key if key in changing else value

    walked: dict[str, Any] = walk(body)
    if walked["kind"] == "Event":
        walked["metadata"]["name"] = body["metadata"]["name"].rpartition(".")[0]
    return walked


async def test_writes_are_those_of_kube_scheduler() -> None:
    """Lease made, renewed at once, and the Event, field by field and in order."""
    recorded = [
        entry
        for entry in json.loads(WRITES.read_text())
        if "/leases" in entry["path"] or entry["body"].get("reason") == "LeaderElection"
    ][:3]
    terms = Terms(name="kube-scheduler")
    async with EmbeddedApiServer() as server, ApiProxy(server.url) as proxy:
        leadership = Leadership(
            lambda: Connection.to_url(proxy.url), terms, component="default-scheduler"
        )
        await leadership.acquire()
        while len(proxy.writes) < 3:  # noqa: ASYNC110 - it looks at a server, which sets no event
            await asyncio.sleep(0.01)
        await leadership.release()
        create, *others = (entry for entry in proxy.writes if "/leases" in entry.path)
        [event] = proxy.bodies("POST", "/events")[:1]
        paths = [entry["path"].partition("?")[0] for entry in recorded]
        assert [create.path, others[0].path] == paths[:2]
        for ours, theirs in (
            (create.body, recorded[0]["body"]),
            (others[0].body, recorded[1]["body"]),
            (event, recorded[2]["body"]),
        ):
            assert plain(ours) == plain(theirs)
            assert list(ours) == list(theirs)
        assert event["message"] == f"{leadership.identity} became leader"


# In a thread


async def test_thread_leads_until_released() -> None:
    """Two processes' worth of threads: the second leads when the first lets go."""
    metrics = Metrics()
    async with EmbeddedApiServer() as server:

        def connect() -> Connection:
            return Connection.to_url(server.url)

        first = Leadership(connect, FAST, component="p", metrics=metrics)
        second = Leadership(connect, FAST, component="p")
        await first.acquire()
        assert first.leads
        assert first.fault() == ""
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(0.3)
        assert not waiting.done()
        assert b'leader_election_master_status{name="moorage"} 1.0' in metrics.text()
        await first.release()
        await asyncio.wait_for(waiting, 5)
        assert second.leads
        assert not first.gate.is_open
        await second.release()


async def test_loop_that_hangs_loses_the_lease() -> None:
    """Others may lead then; the process that hung does not write when it comes to itself."""
    alive = True
    async with EmbeddedApiServer() as server:
        leadership = Leadership(
            lambda: Connection.to_url(server.url), FAST, component="p", is_alive=lambda: alive
        )
        await leadership.acquire()
        alive = False
        assert await asyncio.wait_for(leadership.lost(), 5) == "the scheduling loop hangs"
        assert not leadership.gate.is_open
        assert leadership.fault() == "leader election lost: the scheduling loop hangs"
        await leadership.release()


async def test_what_keeps_it_from_connecting_is_raised() -> None:
    """Not a thread that dies in silence while everybody waits."""

    def connect() -> Connection:
        raise KubeconfigError("no such file")

    leadership = Leadership(connect, FAST, component="p")
    with pytest.raises(KubeconfigError, match="no such file"):
        await leadership.acquire()
    await leadership.release()


def test_identities_differ() -> None:
    """Two processes of one host are two holders."""
    assert new_identity() != new_identity()
