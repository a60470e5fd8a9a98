"""The stand-in for kubelets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import RUN_SECONDS, EmbeddedApiServer, ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@pytest.fixture
async def running(clock: ManualClock) -> AsyncIterator[EmbeddedApiServer]:
    """Run a server with the stand-in."""
    async with EmbeddedApiServer(clock=clock) as server:
        yield server


async def settle() -> None:
    """Let everything run that is ready to."""
    for _ in range(10):
        await asyncio.sleep(0)


def phase_of(server: EmbeddedApiServer) -> str:
    """Return the phase of the pod ``a``, or ``gone``."""
    pods = server.store.list("pods")
    return str(pods[0]["status"]["phase"]) if pods else "gone"


async def test_a_bound_pod_becomes_running(
    running: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """It is ready, has an address and a start time, and keeps what the scheduler wrote."""
    running.store.create(make_pod("a"))
    await settle()
    assert phase_of(running) == "Pending"
    running.store.bind("a", "n1", namespace="default")
    await settle()
    status = running.store.get("pods", "a", namespace="default")["status"]
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert status["phase"] == "Running"
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert status["podIP"]
    assert conditions["Ready"] == conditions["PodScheduled"] == "True"
    assert [one["ready"] for one in status["containerStatuses"]] == [True]


async def test_a_pod_that_is_created_bound_becomes_running(
    running: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """As a static pod would, or one in a manifest."""
    running.store.create(make_pod("a", nodeName="n1"))
    await settle()
    assert phase_of(running) == "Running"


async def test_a_finite_pod_succeeds_after_its_time(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """The annotation says after how many seconds."""
    pod = make_pod("a", nodeName="n1", restartPolicy="Never")
    pod["metadata"]["annotations"] = {RUN_SECONDS: "5"}
    running.store.create(pod)
    await settle()
    clock.advance(4)
    await settle()
    assert phase_of(running) == "Running"
    clock.advance(1)
    await settle()
    assert phase_of(running) == "Succeeded"


async def test_an_annotation_that_is_no_number_is_ignored(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """The pod runs on."""
    pod = make_pod("a", nodeName="n1")
    pod["metadata"]["annotations"] = {RUN_SECONDS: "soon"}
    running.store.create(pod)
    await settle()
    clock.advance(1000)
    await settle()
    assert phase_of(running) == "Running"


@pytest.mark.parametrize(("grace", "seconds"), [(1, 1), (10, 1)])
async def test_a_deleted_pod_terminates_for_a_second_at_most(
    running: EmbeddedApiServer,
    clock: ManualClock,
    make_pod: Callable[..., dict[str, Any]],
    grace: int,
    seconds: int,
) -> None:
    """It is seen to be terminating until then, with the grace period that it was given."""
    running.store.create(make_pod("a", nodeName="n1", terminationGracePeriodSeconds=grace))
    await settle()
    running.store.delete("pods", "a", namespace="default")
    await settle()
    clock.advance(seconds - 0.1)
    await settle()
    pod = running.store.get("pods", "a", namespace="default")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == grace
    clock.advance(0.1)
    await settle()
    assert phase_of(running) == "gone"


async def test_another_pod_of_the_same_name_is_left_alone(
    running: EmbeddedApiServer, clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """The end of a grace period is meant for one uid."""
    running.store.create(make_pod("a", nodeName="n1"))
    await settle()
    running.store.delete("pods", "a", namespace="default")
    await settle()
    running.store.delete("pods", "a", namespace="default", grace_seconds=0)
    running.store.create(make_pod("a", nodeName="n2"))
    clock.advance(60)
    await settle()
    assert phase_of(running) == "Running"


async def test_a_stand_in_that_fell_behind_starts_anew(
    clock: ManualClock, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """More pods at once than the history holds: all of them become Running."""
    async with EmbeddedApiServer(clock=clock, history=8) as server:
        await settle()
        for number in range(50):
            server.store.create(make_pod(f"p{number}", nodeName="n1"))
        await settle()
        phases = {pod["status"]["phase"] for pod in server.store.list("pods")}
    assert phases == {"Running"}
