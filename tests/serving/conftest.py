"""A process's endpoints on a free port, over a session without a runner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from tests.loop_kit import PROFILE, Room, Sort, make_framework

import moorage
from moorage.api.connection import Connection
from moorage.framework.handle import Services
from moorage.serving import (
    PATHS,
    Check,
    Debugging,
    Health,
    Heartbeat,
    Inspected,
    Pages,
    Serving,
    Watchdog,
)
from moorage.session import Session

__all__ = ["Place"]


class Loop:
    """An event loop in a thread, as the scheduling loop is to whoever serves."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@dataclass
class Place:
    """Endpoints, what they are about, and faults that checks are to tell."""

    session: Session
    loop: Loop
    url: str = "http://127.0.0.1:1"
    api: str = "http://127.0.0.1:1"
    faults: dict[str, str] = field(default_factory=dict)
    serving: Serving | None = None
    watchdog: Watchdog | None = None
    heartbeat: Heartbeat = field(default_factory=Heartbeat)

    def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Serve."""
        services = self.session.services
        self.watchdog = Watchdog(self.heartbeat, services.activity, deadline=0.2)

        def fault(name: str) -> Check:
            return Check(name, lambda: self.faults.get(name, ""))

        self.serving = Serving(
            host=host,
            port=port,
            health=Health(
                livez=[fault("leaderElection"), Check("scheduling-loop", self.watchdog.fault)],
                readyz=[fault("leaderElection"), fault("sched-handler-sync")],
            ),
            metrics=services.metrics,
            pages=Pages(
                configuration={"kind": "KubeSchedulerConfiguration"},
                flags={"v": "2", "leader-elect": "true"},
                paths=PATHS,
            ),
            debugging=Debugging(self.inspected, lambda: Connection.to_url(self.api), pause=0.01),
        )
        self.serving.start()
        self.url = f"http://127.0.0.1:{self.serving.port}"

    def inspected(self) -> Inspected:
        """Return what there is to look at."""
        session = self.session
        clock = session.services.clock
        return Inspected(
            self.loop.loop, session.queue, session.cluster, session.record.attempts, clock
        )

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Ask; returns status and text."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with (
            aiohttp.ClientSession() as client,
            client.get(self.url + path, headers=named) as answer,
        ):
            return answer.status, await answer.text()

    async def json(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Ask for JSON."""
        async with aiohttp.ClientSession() as client, client.get(self.url + path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()


def new_session(**plugins: type[moorage.Plugin]) -> Session:
    """Make a session of `Sort`, `Room` and further plugins."""
    services = Services()
    framework = make_framework({"Sort": Sort, "Room": Room, **plugins}, services=services)
    return Session({PROFILE: framework}, services)


@pytest.fixture
def place() -> Iterator[Place]:
    """Serve on a free port of loopback."""
    place = Place(new_session(), Loop())
    place.start()
    yield place
    assert place.serving is not None
    place.serving.stop()
    place.loop.stop()
