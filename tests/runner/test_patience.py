"""Who waits for idleness hears what keeps it from coming."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.loop_kit import Clock
from tests.runner.test_runner import eventually

import moorage
from moorage.runner import patience
from moorage.runner.patience import Patience

if TYPE_CHECKING:
    from tests.runner.conftest import Cluster


def test_it_is_said_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    """After 5 seconds, then 10, 20, ...; and from the start when something has moved."""
    clock = Clock(0.0)
    waiting = Patience(clock=clock)
    for second in range(41):
        clock.now = float(second)
        waiting.look("same", lambda: ["a", "b"])
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"Nothing has moved for {seconds} s; waiting for a; b" for seconds in (5, 10, 20, 40)
    ]
    for second in range(41, 46):
        clock.now = float(second)
        waiting.look("other", lambda: ["a"])
    assert len(caplog.records) == len(said)


async def _idle_with(
    cluster: Cluster, plugin: type[moorage.Plugin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.1)
    cluster.node("n1")
    cluster.pod("p")
    await cluster.until_idle(Slow=plugin)


async def _told(caplog: pytest.LogCaptureFixture, text: str) -> None:
    """Wait until something is said; on a machine that is busy that may take a while."""
    await eventually(lambda: f"waiting for pod default/p, {text}" in caplog.text)


async def test_a_pod_in_a_hook_of_binding_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With hook, plugin and distribution."""

    class Slow(moorage.Plugin):
        """Takes its time."""

        @moorage.hookimpl
        async def pre_bind(self) -> None:
            """Wait."""
            await _told(caplog, "which is in pre_bind of plugin 'Slow' (tests)")

    await _idle_with(cluster, Slow, monkeypatch)
    assert cluster.node_of("p") == "n1"


async def test_a_pod_in_permit_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the plugin that does not let it go."""

    class Slow(moorage.Plugin):
        """Lets pods wait."""

        @moorage.hookimpl
        def permit(self, pod: moorage.Pod) -> moorage.Verdict:
            """Wait."""

            async def later() -> None:
                await _told(caplog, "which waits in permit for plugin 'Slow'")
                waiting = self.handle.waiting_pods.get(pod.metadata.uid)
                assert waiting is not None
                waiting.allow("Slow")

            self.task = asyncio.create_task(later())
            return moorage.Verdict.wait(60)

    await _idle_with(cluster, Slow, monkeypatch)
    assert cluster.node_of("p") == "n1"


async def test_a_pod_that_nobody_bound_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A Bind plugin that answers Success without binding is found by this."""

    class Slow(moorage.Plugin):
        """Says that it binds."""

        @moorage.hookimpl
        async def bind(self, pod: moorage.Pod) -> None:
            """Bind later than it says."""

            async def later() -> None:
                what = "which was bound and is not seen on a node; does its Bind plugin bind?"
                await _told(caplog, what)
                await self.handle.bind(pod, "n1")

            self.task = asyncio.create_task(later())

    await _idle_with(cluster, Slow, monkeypatch)
    assert cluster.node_of("p") == "n1"
