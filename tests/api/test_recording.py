"""Events: as a kube-scheduler writes them, in series, and never in anybody's way."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.recording import EventRecorder, Reference, _cut, _event_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.conftest import FakeServer

    from moorage.api.client import ApiClient

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
POD = Reference(kind="Pod", namespace="default", name="p", uid="u", api_version="v1")


class Clocks:
    """Both clocks of a recorder, moved by hand; `seconds` is the monotonic one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.nanoseconds = 1_796_062_908_591_868_659

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds
        self.nanoseconds += int(seconds * 1e9)


@pytest.fixture
def clocks() -> Clocks:
    """Give the clocks of the recorder."""
    return Clocks()


@pytest.fixture
def recorder(client: ApiClient, clocks: Clocks) -> EventRecorder:
    """Give a recorder of default-scheduler on the host of the recording."""
    return EventRecorder(
        client,
        "default-scheduler",
        hostname="vm",
        clock=lambda: clocks.seconds,
        wall=lambda: clocks.nanoseconds,
    )


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    """Run a recorder for the length of the block."""
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def flushed(recorder: EventRecorder) -> None:
    """Write what was recorded."""
    async with running(recorder):
        await recorder.flush(5)


def refuse_pod(recorder: EventRecorder, *, note: str = "0/2 nodes are available") -> None:
    """Record that the pod found no node."""
    recorder.record(POD, type="Warning", reason="FailedScheduling", action="Scheduling", note=note)


async def test_events_equal_the_recorded_ones(
    server: FakeServer, recorder: EventRecorder, clocks: Clocks, wire: list[dict[str, Any]]
) -> None:
    """Path and body, down to the order of fields, and the name made of the time.

    kube-scheduler reads the clock twice, for the time and then for the name; once is enough.
    """
    recorded = [write for write in wire if "events.k8s.io" in write["path"]]
    assert len(recorded) == 7
    server.on("POST", EVENTS, server.json({}, status=201))
    for write in sorted(recorded, key=lambda write: str(write["body"]["metadata"]["name"][-16:])):
        body = write["body"]
        clocks.nanoseconds = int(body["metadata"]["name"].rpartition(".")[2], 16)
        regarding = body["regarding"]
        recorder.record(
            Reference(
                kind=regarding["kind"],
                namespace=regarding["namespace"],
                name=regarding["name"],
                uid=regarding["uid"],
                api_version=regarding["apiVersion"],
                resource_version=regarding["resourceVersion"],
            ),
            type=body["type"],
            reason=body["reason"],
            action=body["action"],
            note=body["note"],
        )
        await flushed(recorder)
        asked = server.asked[-1]
        assert asked.path == write["path"]
        written, expected = (datetime.fromisoformat(one["eventTime"]) for one in (asked.body, body))
        assert 0 <= (written - expected).total_seconds() < 0.001
        assert len(asked.body["eventTime"]) == len(body["eventTime"])
        assert json.dumps(asked.body | {"eventTime": body["eventTime"]}) == json.dumps(body)


async def test_repetition_becomes_a_series(
    server: FakeServer, recorder: EventRecorder, clocks: Clocks
) -> None:
    """The second one is a patch of the first; more of them are counted and told at the end."""
    server.on("POST", EVENTS, server.json({}, status=201))
    async with running(recorder):
        refuse_pod(recorder)
        await recorder.flush(5)
        path = f"{EVENTS}/{server.asked[0].body['metadata']['name']}"
        server.on("PATCH", path, server.json({}))
        for _ in range(4):
            clocks.move(60)
            refuse_pod(recorder)
            await asyncio.sleep(0.01)
        [patch] = server.requests("PATCH")
        assert patch.body["series"]["count"] == 2
        assert patch.headers["Content-Type"] == "application/strategic-merge-patch+json"
        clocks.move(360)
        recorder.end_series()
        await recorder.flush(5)
    last = server.requests("PATCH")[-1].body
    assert last["series"]["count"] == 5
    observed = datetime.fromisoformat(last["series"]["lastObservedTime"])
    first = datetime.fromisoformat(server.asked[0].body["eventTime"])
    assert (observed - first).total_seconds() == 240
    assert len(server.requests("POST")) == 1


async def test_repetition_before_the_first_is_written(
    server: FakeServer, recorder: EventRecorder
) -> None:
    """However soon they come, the event is created once and the count is told once."""
    server.on("POST", EVENTS, server.json({}, status=201))
    for _ in range(3):
        refuse_pod(recorder)
    path = f"{EVENTS}/{_event_name('p', 1_796_062_908_591_868_659)}"
    server.on("PATCH", path, server.json({}))
    await flushed(recorder)
    assert [asked.method for asked in server.asked] == ["POST", "PATCH"]
    assert server.asked[-1].body["series"]["count"] == 3
    assert recorder.written == 1


async def test_other_notes_are_other_events(server: FakeServer, recorder: EventRecorder) -> None:
    """A message that changed is news."""
    server.on("POST", EVENTS, server.json({}, status=201))
    refuse_pod(recorder)
    refuse_pod(recorder, note="0/3 nodes are available")
    await flushed(recorder)
    assert len(server.requests("POST")) == 2


async def test_after_six_minutes_it_is_a_new_event(
    server: FakeServer, recorder: EventRecorder, clocks: Clocks
) -> None:
    """A series ends when its event stays away."""
    server.on("POST", EVENTS, server.json({}, status=201))
    refuse_pod(recorder)
    clocks.move(361)
    refuse_pod(recorder)
    await flushed(recorder)
    names = [asked.body["metadata"]["name"] for asked in server.requests("POST")]
    assert len(set(names)) == 2


async def test_long_series_is_told_every_half_hour(
    server: FakeServer, recorder: EventRecorder, clocks: Clocks
) -> None:
    """A pod that is refused for hours keeps its event alive, without a write each time."""
    server.on("POST", EVENTS, server.json({}, status=201))
    async with running(recorder):
        refuse_pod(recorder)
        await recorder.flush(5)
        path = f"{EVENTS}/{server.asked[0].body['metadata']['name']}"
        server.on("PATCH", path, server.json({}))
        for _ in range(65):
            clocks.move(60)
            refuse_pod(recorder)
            recorder.end_series()
            await asyncio.sleep(0.005)
    assert [asked.body["series"]["count"] for asked in server.requests("PATCH")] == [2, 32, 62]


async def test_series_of_a_forgotten_event_makes_a_new_one(
    server: FakeServer, recorder: EventRecorder
) -> None:
    """Where the server no longer has the event, it is created with its series."""
    server.on("POST", EVENTS, server.json({}, status=201))
    async with running(recorder):
        refuse_pod(recorder)
        await recorder.flush(5)
        refuse_pod(recorder)
        await recorder.flush(5)
    created = server.requests("POST")[-1].body
    assert created["series"]["count"] == 2
    assert recorder.failed == 0


async def test_full_queue_drops_and_counts(recorder: EventRecorder) -> None:
    """Nobody waits for events: what does not fit is counted."""
    small = EventRecorder(recorder._client, "s", capacity=8)
    for number in range(50):
        refuse_pod(small, note=str(number))
    assert small.dropped == 50 - sum(queue.qsize() for queue in small._queues)
    assert small.dropped >= 42


async def test_memory_is_bounded(recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the most recent events are remembered."""
    monkeypatch.setattr("moorage.api.recording._KEYS", 10)
    for number in range(100):
        refuse_pod(recorder, note=str(number))
    assert len(recorder._recent) == 10


async def test_refused_event_is_counted_and_the_next_one_written(
    server: FakeServer, recorder: EventRecorder
) -> None:
    """A namespace on its way out takes no events; others do."""
    server.on("POST", EVENTS, server.refuse(403, "Forbidden"), server.json({}, status=201))
    refuse_pod(recorder)
    await flushed(recorder)
    refuse_pod(recorder, note="another")
    await flushed(recorder)
    assert (recorder.failed, recorder.written) == (1, 1)


async def test_lost_answer_is_retried_and_a_conflict_is_success(
    server: FakeServer, client: ApiClient
) -> None:
    """An event that arrived although the answer was lost is not a failure."""

    async def nap(seconds: float) -> None:
        await asyncio.sleep(0 if seconds < 60 else seconds)

    recorder = EventRecorder(client, "s", sleep=nap)
    server.on("POST", EVENTS, server.break_off(), server.refuse(409, "AlreadyExists"))
    refuse_pod(recorder)
    await flushed(recorder)
    assert (recorder.failed, recorder.written) == (0, 1)
    assert len(server.requests("POST")) == 2


async def test_flush_gives_up_in_time(server: FakeServer, recorder: EventRecorder) -> None:
    """A server that does not answer holds up no shutdown."""
    server.on("POST", EVENTS, server.lines(hold=True))
    refuse_pod(recorder)
    async with running(recorder), asyncio.timeout(5):
        await recorder.flush(0.05)
    assert recorder.written == 0


async def test_related_object_and_cluster_scope(
    server: FakeServer, recorder: EventRecorder
) -> None:
    """What is not in a namespace has its events in default; the related object goes along."""
    server.on("POST", EVENTS, server.json({}, status=201))
    recorder.record(
        Reference(kind="Node", name="n"),
        type="Normal",
        reason="R",
        action="A",
        note="n",
        related=POD,
    )
    await flushed(recorder)
    [asked] = server.requests("POST")
    assert asked.body["metadata"]["namespace"] == "default"
    assert asked.body["related"]["name"] == "p"
    assert asked.body["regarding"] == {"kind": "Node", "name": "n"}


@given(note=st.text(max_size=2000))
def test_notes_are_cut_to_what_the_api_takes(note: str) -> None:
    """At most 1,024 bytes, whole characters, and a mark that something is missing."""
    cut = _cut(note)
    assert len(cut.encode()) <= 1024
    assert cut == note or (cut.endswith(" ...") and note.startswith(cut.removesuffix(" ...")))


def test_names_stay_within_what_a_name_may_hold() -> None:
    """The longest name of a pod still makes a name of an event."""
    name = _event_name("a" * 252 + "b", 0x18ECE5B30CDF8AF3)
    assert len(name) <= 253
    assert name.endswith(".18ece5b30cdf8af3")
