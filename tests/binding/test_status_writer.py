"""Conditions and nominations reach pods once each, whatever happens on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.loop_kit import make_pod

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.binding.status_writer import StatusWriter
from moorage.errors import ApiError, UnreachableError
from moorage.model.pod_info import PodInfo
from moorage.model.pods import PodCondition, PodStatus


class Server(ApiClient):
    """The edge: notes each patch, and fails by a script."""

    def __init__(self) -> None:
        super().__init__(Connection.to_url("http://127.0.0.1:1"))
        self.patches: list[tuple[str, Any]] = []
        self.failures: list[Exception] = []
        self.before: Callable[[], None] = lambda: None

    async def request(self, method: str, path: str, **what: Any) -> bytes:  # noqa: ANN401 - as it is called
        """Note a request, or fail."""
        self.before()
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.patches.append((path, what["body"]))
        return b"{}"


class Case:
    """A writer, its server, and the pods that are known."""

    def __init__(self) -> None:
        self.server = Server()
        self.known: dict[str, PodInfo] = {}
        self.naps: list[float] = []
        self.writer = StatusWriter(
            self.server,
            newest=self.known.get,
            wall=lambda: datetime(2026, 11, 30, 18, 21, 48, tzinfo=UTC),
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)

    def pod(self, name: str = "p", *, message: str = "", nominated: str = "") -> PodInfo:
        """Know a pod, with a PodScheduled condition where it has a message."""
        pod = make_pod(name, nominated=nominated)
        if message:
            condition = PodCondition(
                type="PodScheduled", status="False", reason="Unschedulable", message=message
            )
            status = PodStatus(phase="Pending", conditions=(condition,))
            pod = msgspec.structs.replace(pod, status=status)
        self.known[name] = info = PodInfo(pod)
        return info

    def wish(self, info: PodInfo, message: str, nomination: str | None = None) -> None:
        """Wish for a condition."""
        self.writer.unscheduled(
            info, reason="Unschedulable", message=message, nomination=nomination
        )

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write until all is written."""
        task = asyncio.create_task(self.writer.run())
        try:
            yield
            async with asyncio.timeout(5):
                await self.writer.flush()
            assert self.writer.is_idle
        finally:
            task.cancel()

    def messages(self) -> list[str]:
        """Return the messages that were written."""
        return [patch["status"]["conditions"][0]["message"] for _, patch in self.server.patches]


@pytest.fixture
def case() -> Case:
    """Make a writer."""
    return Case()


async def test_condition_and_nomination_are_one_patch(case: Case) -> None:
    """On the status subresource of the pod."""
    case.wish(case.pod(), "no room", "n2")
    assert not case.writer.is_idle
    async with case.writing():
        pass
    [(path, patch)] = case.server.patches
    assert path == "/api/v1/namespaces/ns/pods/p/status"
    assert patch["status"]["nominatedNodeName"] == "n2"
    [condition] = patch["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2026-11-30T18:21:48Z"
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")


async def test_what_the_pod_says_already_is_not_written(case: Case) -> None:
    """Else each retry would be a patch, and each patch an update to everybody."""
    case.wish(case.pod(message="no room"), "no room")
    assert case.writer.is_idle
    async with case.writing():
        pass
    assert case.server.patches == []


async def test_newest_wish_for_a_pod_counts(case: Case) -> None:
    """What waits is bounded by the number of pods."""
    info = case.pod()
    for number in range(5):
        case.wish(info, f"reason {number}")
    async with case.writing():
        pass
    assert case.messages() == ["reason 4"]


async def test_older_wish_does_not_win(case: Case) -> None:
    """A pod that says again what it said, while something else waits to be written."""
    info = case.pod(message="no room")
    case.wish(info, "other")
    case.wish(info, "no room")
    async with case.writing():
        pass
    assert case.server.patches == []


async def test_nothing_is_written_to_a_pod_that_is_gone_or_bound(case: Case) -> None:
    """As known when its turn comes."""
    gone, bound = case.pod("gone"), case.pod("bound")
    case.wish(gone, "no room")
    case.wish(bound, "no room")
    del case.known["gone"]
    case.known["bound"] = bound.on_node("n1")
    async with case.writing():
        pass
    assert case.server.patches == []


async def test_unanswered_patch_is_sent_again(case: Case) -> None:
    """It sets what it says, so that twice does no harm."""
    case.server.failures = [UnreachableError("no answer"), ApiError("busy", code=503)]
    case.wish(case.pod(), "no room")
    async with case.writing():
        pass
    assert case.messages() == ["no room"]
    assert case.naps == [0.2, 1.0]


async def test_newer_wish_ends_the_retries_of_the_older(case: Case) -> None:
    """There is no point in insisting."""
    info = case.pod()
    case.server.failures = [UnreachableError("no answer")]
    case.wish(info, "old")
    async with case.writing():
        case.server.before = lambda: case.wish(info, "new") if not case.naps else None
    assert case.messages() == ["new"]


@pytest.mark.parametrize(
    ("failures", "warns"),
    [
        pytest.param([ApiError("pod not found", code=404)], False, id="gone"),
        pytest.param([ApiError("you must not", code=403)], True, id="forbidden"),
        pytest.param([UnreachableError("no answer")] * 4, True, id="unreachable"),
    ],
)
async def test_giving_up_is_logged_and_ends_nothing(
    case: Case,
    failures: list[Exception],
    warns: bool,  # noqa: FBT001 - a parameter
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The sentence names the pod; other pods are written all the same."""
    case.server.failures = list(failures)
    case.wish(case.pod("p"), "no room")
    with caplog.at_level(logging.WARNING):
        async with case.writing():
            pass
        case.wish(case.pod("q"), "no room")
        async with case.writing():
            pass
    assert case.messages() == ["no room"]
    assert ("Pod ns/p: cannot write its status" in caplog.text) is warns


@pytest.mark.parametrize("code", [409, 429])
async def test_conflict_and_overload_pass(case: Case, code: int) -> None:
    """The patch is sent again."""
    case.server.failures = [ApiError("not now", code=code)]
    case.wish(case.pod(), "no room")
    async with case.writing():
        pass
    assert case.messages() == ["no room"]


async def test_nothing_is_written_about_a_pod_that_is_about_to_be_bound(case: Case) -> None:
    """What waits is dropped, what is being sent is waited for, and what failed is not sent again."""
    waits, info = case.pod("waits"), case.pod("p")
    case.server.failures = [UnreachableError("no answer")]
    case.wish(waits, "no room")
    await case.writer.hush("waits")
    case.wish(info, "no room")
    writing = asyncio.create_task(case.writer.run())
    async with asyncio.timeout(5):
        while not case.writer._sending:  # noqa: ASYNC110 - the writer tells nobody that it sends
            await asyncio.sleep(0)
    await case.writer.hush("p")
    assert not case.server.failures
    await case.writer.flush()
    writing.cancel()
    assert not case.messages()


async def test_nomination_that_the_watch_has_not_told_of_is_taken_back(case: Case) -> None:
    """It was written a moment ago."""
    case.writer.unscheduled(
        case.pod(message="no"), reason="Unschedulable", message="no", nomination="", announced="n1"
    )
    async with case.writing():
        pass
    assert [patch for _, patch in case.server.patches] == [{"status": {"nominatedNodeName": None}}]


async def test_nomination_is_written_at_once(case: Case) -> None:
    """And not again where the pod has it already."""
    await case.writer.nominate(case.pod(), "n1")
    assert [patch for _, patch in case.server.patches] == [{"status": {"nominatedNodeName": "n1"}}]
    await case.writer.nominate(case.pod(nominated="n1"), "n1")
    assert len(case.server.patches) == 1


async def test_nomination_that_cannot_be_written_holds_up_nobody(
    case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    """Binding goes on."""
    case.server.failures = [ApiError("busy", code=500)]
    with caplog.at_level(logging.WARNING):
        await case.writer.nominate(case.pod(), "n1")
    assert "cannot write its nominatedNodeName: busy" in caplog.text
