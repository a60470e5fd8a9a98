"""A runner that schedules only while it leads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.loop_kit import PROFILE, Room, Sort, make_framework
from tests.runner.conftest import Bind

import moorage
from moorage.api.connection import Connection
from moorage.errors import LeadershipLostError
from moorage.framework.handle import Services
from moorage.runner import Oversight, Runner
from moorage.serving import Heartbeat, Leadership, Terms

if TYPE_CHECKING:
    from tests.runner.conftest import Cluster

TERMS = Terms(lease_duration=1.0, renew_deadline=0.6, retry_period=0.1)
LEASE = "leases.coordination.k8s.io"


def replica(
    cluster: Cluster, *, delay_cache: bool = False, **plugins: type[moorage.Plugin]
) -> Runner:
    """Make a runner that takes part in leader election."""
    services = Services()
    heartbeat = Heartbeat(period=0.05)

    def connect() -> Connection:
        return Connection.to_url(cluster.proxy.url)

    leadership = Leadership(
        connect,
        TERMS,
        component=PROFILE,
        is_alive=lambda: heartbeat.silence < TERMS.renew_deadline,
    )
    framework = make_framework(
        {"Sort": Sort, "Room": Room, **plugins, "Bind": plugins.get("Bind", Bind)},
        services=services,
    )
    oversight = Oversight(leadership=leadership, delay_cache=delay_cache, heartbeat=heartbeat)
    return Runner({PROFILE: framework}, services, connect(), grace=2.0, oversight=oversight)


@asynccontextmanager
async def leading(cluster: Cluster) -> AsyncIterator[None]:
    """Hold the Lease as somebody else."""
    other = Leadership(lambda: Connection.to_url(cluster.proxy.url), TERMS, component="other")
    await other.acquire()
    yield
    await other.release()


async def eventually(truth: object, seconds: float = 8.0) -> None:
    """Wait until a function says yes."""
    assert callable(truth)
    async with asyncio.timeout(seconds):
        while not truth():  # noqa: ASYNC110 - it looks at a server, which sets no event
            await asyncio.sleep(0.01)


async def test_replica_schedules_once_it_leads(cluster: Cluster) -> None:
    """Standing by it knows the cluster, and writes nothing."""
    cluster.node("n1")
    cluster.pod("p")
    runner = replica(cluster)
    async with leading(cluster), cluster.running(runner):
        await eventually(lambda: runner.is_synced)
        await asyncio.sleep(0.2)
        assert cluster.node_of("p") == ""
        writes = [write.path for write in cluster.proxy.writes if "/lease" not in write.path]
        assert all(path.endswith("/kube-system/events") for path in writes)
        cluster.store.delete(LEASE, "moorage", namespace="kube-system")
        await eventually(lambda: cluster.node_of("p"))


async def test_cache_can_be_filled_only_when_leading(cluster: Cluster) -> None:
    """With delayCacheUntilActive, who stands by watches nothing."""
    cluster.node("n1")
    cluster.pod("p")
    runner = replica(cluster, delay_cache=True)
    async with leading(cluster), cluster.running(runner):
        await asyncio.sleep(0.3)
        assert not runner.is_synced
        cluster.store.delete(LEASE, "moorage", namespace="kube-system")
        await eventually(lambda: cluster.node_of("p"))


async def test_lease_is_given_back_at_the_end(cluster: Cluster) -> None:
    """So that the next one need not wait."""
    runner = replica(cluster)
    async with cluster.running(runner):
        await eventually(lambda: cluster.proxy.bodies("PUT", "/leases/moorage"))
        await runner.until_idle()
    lease = cluster.store.get(LEASE, "moorage", namespace="kube-system")
    assert lease["spec"]["holderIdentity"] == ""


async def test_replica_that_stands_by_can_be_stopped(cluster: Cluster) -> None:
    """It holds nothing, and ends at once."""
    async with leading(cluster):
        runner = replica(cluster)
        running = asyncio.create_task(runner.run())
        await eventually(lambda: runner.is_synced)
        runner.stop()
        await asyncio.wait_for(running, 3)


class Blocking(moorage.Plugin):
    """Blocks the loop for longer than the Lease lasts, for one pod."""

    @moorage.hookimpl
    def reserve(self, pod: moorage.Pod) -> None:
        """Block."""
        if pod.metadata.name == "slow":
            time.sleep(TERMS.lease_duration * 2)


async def test_nothing_is_written_after_a_hook_outlasted_the_lease(cluster: Cluster) -> None:
    """Not by the hook's own pod, nor by any other; the process ends, saying why."""
    cluster.node("n1")
    runner = replica(cluster, Blocking=Blocking)
    running = asyncio.create_task(runner.run())
    await eventually(lambda: runner.is_synced)
    cluster.pod("before")
    await eventually(lambda: cluster.node_of("before"))
    cluster.pod("slow")
    cluster.pod("after")
    with pytest.raises(LeadershipLostError, match="leaderelection lost"):
        await asyncio.wait_for(running, 10)
    assert (cluster.node_of("slow"), cluster.node_of("after")) == ("", "")
    assert cluster.proxy.bodies("POST", "/pods/slow/binding") == []
    runner.session.cluster.check_invariants()
    assert runner.session.cluster.assumed_count <= 1


async def test_leader_ends_when_it_cannot_renew(cluster: Cluster) -> None:
    """The server refuses its renewals: others will lead."""
    runner = replica(cluster)
    running = asyncio.create_task(runner.run())
    await eventually(lambda: runner.is_synced)
    cluster.proxy.refuse("PUT", "/leases/moorage", 500, "InternalError", times=1000)
    with pytest.raises(LeadershipLostError, match=r"could not be renewed for 0.6 s"):
        await asyncio.wait_for(running, 10)
