"""List and watch: what comes out, and what survives."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.resources import LEASES, PODS
from moorage.api.watching import Changes, Reflector, Replace
from moorage.errors import ApiError, LostAnswerError, NotServedError, UnreachableError
from moorage.fault_log import NOTICE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.conftest import FakeServer, Naps

    from moorage.api.watching import Batch

LIST = "/api/v1/pods"


class Meta(msgspec.Struct, rename="camel"):
    """As much of an object's metadata as these tests read."""

    name: str
    resource_version: str = ""


class Thing(msgspec.Struct):
    """An object; `size` may be wrong."""

    metadata: Meta
    size: int = 0


def thing(name: str, version: int, **more: object) -> dict[str, Any]:
    """Make an object as it is on the wire."""
    return {"metadata": {"name": name, "resourceVersion": str(version)}, **more}


def event(kind: str, name: str, version: int, **more: object) -> dict[str, Any]:
    """Make a line of a watch."""
    return {"type": kind, "object": {"kind": "Pod", **thing(name, version, **more)}}


def page(*items: dict[str, Any], version: int = 10, following: str = "") -> dict[str, Any]:
    """Make a page of a list."""
    metadata = {"resourceVersion": str(version)} | ({"continue": following} if following else {})
    return {"kind": "PodList", "metadata": metadata, "items": list(items)}


def expired(code: int = 410) -> dict[str, Any]:
    """Make the line with which a server ends a watch."""
    return {
        "type": "ERROR",
        "object": {
            "kind": "Status",
            "metadata": {},
            "message": "too old resource version: 1 (89)",
            "reason": "Expired",
            "code": code,
        },
    }


@pytest.fixture
def reflector(client: ApiClient, naps: Naps) -> Reflector[Thing]:
    """Give a reflector of the fake server's pods, which pauses without taking time."""
    return Reflector(client, PODS, Thing, rng=random.Random(3), sleep=naps)


async def take(reflector: Reflector[Thing], count: int) -> list[Batch[Thing]]:
    """Return the first batches."""
    batches: list[Batch[Thing]] = []
    async with asyncio.timeout(5), aclosing(reflector.batches()) as source:
        async for batch in source:
            batches.append(batch)
            if len(batches) == count:
                break
    return batches


async def follow(reflector: Reflector[Thing], changes: int) -> list[tuple[str, str]]:
    """Return (type, name) of everything up to a number of changes; a Replace is one LIST."""
    seen: list[tuple[str, str]] = []
    found = 0
    async with asyncio.timeout(5), aclosing(reflector.batches()) as source:
        async for batch in source:
            match batch:
                case Replace(items):
                    seen.append(("LIST", " ".join(item.metadata.name for item in items)))
                case Changes(happened):
                    seen += [(one.type, one.object.metadata.name) for one in happened]
                    found += len(happened)
            if found >= changes:
                return seen
    raise AssertionError(seen)


async def test_list_then_watch_from_its_version(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """All pages come as one Replace; the watch begins where the list ends."""
    server.on(
        "GET",
        LIST,
        server.json(page(thing("a", 1), following="more+")),
        server.json(page(thing("b", 2))),
    )
    server.on(
        "WATCH",
        LIST,
        server.lines(
            event("ADDED", "c", 11),
            event("MODIFIED", "a", 12),
            event("DELETED", "b", 13),
            hold=True,
        ),
    )
    assert await follow(reflector, 3) == [
        ("LIST", "a b"),
        ("ADDED", "c"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]
    first, second = server.requests("GET")
    assert first.query == {"limit": "500", "resourceVersion": "0"}
    assert second.query == {"limit": "500", "continue": "more+"}
    [watch] = server.requests("WATCH")
    assert 300 <= int(watch.query.pop("timeoutSeconds")) <= 600
    assert watch.query == {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "10"}
    assert reflector.resource_version == "13"


async def test_lines_received_together_are_one_batch(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """One wake-up hands over everything that is there, however it was cut into chunks."""
    lines = [event("ADDED", f"p{number}", number) for number in range(11, 61)]
    everything = b"\n".join(msgspec.json.encode(line) for line in lines)
    server.on("GET", LIST, server.json(page()))
    server.on("WATCH", LIST, server.lines(everything, hold=True))
    _, batch = await take(reflector, 2)
    assert isinstance(batch, Changes)
    assert [one.object.metadata.name for one in batch.changes] == [f"p{n}" for n in range(11, 61)]
    assert reflector.resource_version == "60"


async def test_selectors_and_namespace_go_along(server: FakeServer, client: ApiClient) -> None:
    """What was selected is asked for in lists and in watches."""
    reflector = Reflector(
        client, PODS, Thing, namespace="ns", params={"fieldSelector": "spec.nodeName="}
    )
    path = "/api/v1/namespaces/ns/pods"
    server.on("GET", path, server.json(page()))
    server.on("WATCH", path, server.lines(event("ADDED", "a", 11), hold=True))
    await follow(reflector, 1)
    assert [asked.query["fieldSelector"] for asked in server.asked] == ["spec.nodeName="] * 2


async def test_synced_once_the_first_list_was_taken(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """The event is set when the consumer comes back, having handled the list."""
    server.on("GET", LIST, server.json(page()))
    server.on("WATCH", LIST, server.lines(event("ADDED", "a", 11), hold=True))
    async with aclosing(reflector.batches()) as source:
        assert isinstance(await anext(source), Replace)
        assert not reflector.synced.is_set()
        await anext(source)
        assert reflector.synced.is_set()


async def test_bookmarks_move_the_version_silently(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """After a bookmark, the next watch begins there; nobody hears of it."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "77"}}}
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH", LIST, server.lines(bookmark), server.lines(event("ADDED", "a", 78), hold=True)
    )
    assert await follow(reflector, 1) == [("LIST", ""), ("ADDED", "a")]
    assert [asked.query["resourceVersion"] for asked in server.requests("WATCH")] == ["10", "77"]


async def test_end_of_watch_goes_on_from_the_last_version(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """A watch that ends after it delivered is opened again at once, without a list."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11)),
        server.lines(event("ADDED", "b", 12), hold=True),
    )
    assert await follow(reflector, 2) == [("LIST", ""), ("ADDED", "a"), ("ADDED", "b")]
    assert [asked.query["resourceVersion"] for asked in server.requests("WATCH")] == ["10", "11"]
    assert not naps.taken


async def test_cut_in_the_middle_of_a_line(server: FakeServer, reflector: Reflector[Thing]) -> None:
    """Half a line is forgotten; the next watch brings it whole."""
    half = msgspec.json.encode(event("ADDED", "b", 12))[:30]
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11), cut=half),
        server.lines(event("ADDED", "b", 12), hold=True),
    )
    assert await follow(reflector, 2) == [("LIST", ""), ("ADDED", "a"), ("ADDED", "b")]
    assert [asked.query["resourceVersion"] for asked in server.requests("WATCH")] == ["10", "11"]


async def test_line_split_over_chunks(server: FakeServer, reflector: Reflector[Thing]) -> None:
    """A line may come in pieces."""
    data = msgspec.json.encode(event("ADDED", "a", 11)) + b"\n"
    server.on("GET", LIST, server.json(page()))
    server.on("WATCH", LIST, server.pieces(data, size=20))
    assert await follow(reflector, 1) == [("LIST", ""), ("ADDED", "a")]


async def test_410_in_the_stream_lists_again(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """Changes before the ERROR are kept; then everything is listed, no older than before."""
    server.on(
        "GET", LIST, server.json(page(version=10)), server.json(page(thing("z", 90), version=90))
    )
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11), expired()),
        server.lines(event("ADDED", "b", 91), hold=True),
    )
    assert await follow(reflector, 2) == [
        ("LIST", ""),
        ("ADDED", "a"),
        ("LIST", "z"),
        ("ADDED", "b"),
    ]
    assert [asked.query["resourceVersion"] for asked in server.requests("GET")] == ["0", "11"]
    assert not naps.taken


async def test_recorded_410_lists_again(
    server: FakeServer,
    reflector: Reflector[Thing],
    naps: Naps,
    answers: dict[str, dict[str, Any]],
) -> None:
    """A watch that has nothing but a 410 to say, as recorded, is no busy loop."""
    note = (
        "watch from a version that is too old: one ERROR event that carries a 410 Status, "
        "then the end"
    )
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(*answers[note]["response"]),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    assert await follow(reflector, 1) == [("LIST", ""), ("LIST", ""), ("ADDED", "a")]
    assert len(naps.taken) == 1


async def test_410_as_the_answer_lists_again(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """A server may say so before the stream begins."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.refuse(410, "Expired"),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    assert await follow(reflector, 1) == [("LIST", ""), ("LIST", ""), ("ADDED", "a")]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param((410, "Expired", "too old resource version"), id="compacted"),
        pytest.param((504, "Timeout", "Too large resource version: 9, current: 7"), id="ahead"),
    ],
)
async def test_unusable_version_on_the_list_asks_for_the_newest(
    server: FakeServer, reflector: Reflector[Thing], refusal: tuple[int, str, str]
) -> None:
    """A version that the server cannot serve is left out of the next list, at once."""
    server.on("GET", LIST, server.refuse(*refusal), server.json(page()))
    server.on("WATCH", LIST, server.lines(event("ADDED", "a", 11), hold=True))
    assert await follow(reflector, 1) == [("LIST", ""), ("ADDED", "a")]
    assert [asked.query.get("resourceVersion") for asked in server.requests("GET")] == ["0", None]


async def test_continue_token_that_expires_begins_a_new_list(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """Pages of an old list are not mixed with those of a new one."""
    server.on(
        "GET",
        LIST,
        server.json(page(thing("old", 1), following="t")),
        server.refuse(410, "Expired", "the provided continue parameter is too old"),
        server.json(page(thing("new", 2))),
    )
    [batch] = await take(reflector, 1)
    assert isinstance(batch, Replace)
    assert [item.metadata.name for item in batch.items] == ["new"]


async def test_failing_list_is_retried_with_growing_pauses(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """0.8 s, doubled up to 30 s, stretched by up to its double; the error is in sight meanwhile."""
    refusals = [server.refuse(403, "Forbidden")] * 8
    server.on("GET", LIST, *refusals, server.json(page()))
    server.on("WATCH", LIST, server.lines(event("ADDED", "a", 11), hold=True))
    errors: list[object] = []

    async def nap(seconds: float) -> None:
        errors.append(reflector.last_error)
        await naps(seconds)

    reflector._sleep = nap
    await follow(reflector, 1)
    base = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert all(low <= nap <= 2 * low for low, nap in zip(base, naps.taken, strict=True))
    assert all(isinstance(error, ApiError) for error in errors)
    assert reflector.last_error is None


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what is logged without any -v."""
    return [record.getMessage() for record in caplog.records if record.levelno >= NOTICE]


async def test_a_server_that_is_gone_is_told_once_and_so_is_its_return(
    server: FakeServer, reflector: Reflector[Thing], caplog: pytest.LogCaptureFixture
) -> None:
    """Also where its end began as that of a watch: nobody would know why nothing is scheduled."""
    caplog.set_level("DEBUG")
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.break_off(),
        server.refuse(503, "ServiceUnavailable", "going down"),
        server.refuse(503, "ServiceUnavailable", "going down"),
        server.lines(event("ADDED", "a", 11), hold=True),
    )

    await follow(reflector, 1)

    assert told(caplog) == ["Watching pods/v1: going down", "Watching pods/v1 goes on"]


async def test_a_server_that_never_answers_is_told(
    server: FakeServer, reflector: Reflector[Thing], caplog: pytest.LogCaptureFixture
) -> None:
    """A lost answer is the ordinary end of a watch, but not for the second time in a row."""
    caplog.set_level("DEBUG")
    server.on("GET", LIST, server.json(page()))
    cut = [server.break_off()] * 5  # the client itself asks again over a used connection
    server.on("WATCH", LIST, *cut, server.lines(event("ADDED", "a", 11), hold=True))

    await follow(reflector, 1)

    assert len(told(caplog)) == 2
    assert told(caplog)[-1] == "Watching pods/v1 goes on"


async def test_watches_that_end_are_not_worth_telling(
    server: FakeServer, reflector: Reflector[Thing], caplog: pytest.LogCaptureFixture
) -> None:
    """By time, or cut by a load balancer: that is every few minutes."""
    caplog.set_level("DEBUG")
    server.on("GET", LIST, server.json(page()))
    half = b'{"type":"ADDED"'
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11), cut=half),
        server.lines(event("ADDED", "b", 12)),
        server.lines(event("ADDED", "c", 13), hold=True),
    )

    await follow(reflector, 3)

    assert told(caplog) == []


async def test_short_empty_watches_are_no_busy_loop(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """A server that ends each watch at once is asked with growing pauses, from the same version."""
    server.on("GET", LIST, server.json(page()))
    empty = [server.lines()] * 4
    server.on("WATCH", LIST, *empty, server.lines(event("ADDED", "a", 11), hold=True))
    await follow(reflector, 1)
    assert len(naps.taken) == 4
    assert len(server.requests("GET")) == 1


async def test_pauses_begin_anew_after_a_healthy_period(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """Two minutes without failure, and the next pause is a short one."""
    ticks = itertools.count(0, 200)
    reflector = Reflector(
        client, PODS, Thing, rng=random.Random(1), sleep=naps, clock=lambda: float(next(ticks))
    )
    server.on("GET", LIST, *[server.refuse(500)] * 5, server.json(page()))
    await take(reflector, 1)
    assert all(0.8 <= nap <= 1.6 for nap in naps.taken)


async def test_pauses_begin_anew_after_a_watch_that_brought_something(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """Nobody stays blind for a minute after a server that was away is well again."""
    refusals = [server.refuse(500)] * 6
    server.on("GET", LIST, *refusals, server.json(page()), server.refuse(500), server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11), expired()),
        server.lines(event("ADDED", "b", 12), hold=True),
    )
    await follow(reflector, 2)
    *growing, last = naps.taken
    assert max(growing) > 20
    assert last <= 1.6


async def test_overload_of_a_watch_keeps_the_version(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """429 on a watch waits for as long as the server says, and lists nothing anew."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.refuse(429, "TooManyRequests", retry_after=20),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    await follow(reflector, 1)
    assert naps.taken == [20.0]
    assert len(server.requests("GET")) == 1


async def test_other_errors_in_the_stream_pause_and_list(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """An ERROR that another watch would meet again leads to a list, after a pause."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(expired(code=403)),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    assert await follow(reflector, 1) == [("LIST", ""), ("LIST", ""), ("ADDED", "a")]
    assert len(naps.taken) == 1


async def test_silence_ends_a_watch(server: FakeServer, client: ApiClient) -> None:
    """A half-open connection says nothing, not even a bookmark; it is given up."""
    reflector = Reflector(client, PODS, Thing, silence_limit=0.05)
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(event("ADDED", "a", 11), hold=True),
        server.lines(event("ADDED", "b", 12), hold=True),
    )
    assert await follow(reflector, 2) == [("LIST", ""), ("ADDED", "a"), ("ADDED", "b")]


async def test_object_that_does_not_decode_is_left_out_of_a_watch(
    server: FakeServer, client: ApiClient
) -> None:
    """The bad one is reported by name; those beside it, and the version, are kept."""
    reported: list[str] = []
    reflector = Reflector(client, PODS, Thing, on_undecodable=lambda name, _: reported.append(name))
    bad = event("MODIFIED", "bad", 12, size="large")
    bad["object"]["metadata"]["namespace"] = "ns"
    unnamed = {"type": "ADDED", "object": {"metadata": 5}}
    unknown = event("SOMETHING", "else", 13)
    together = [event("ADDED", "a", 11), bad, unnamed, unknown, event("ADDED", "b", 14)]
    server.on("GET", LIST, server.json(page()))
    everything = b"\n".join(msgspec.json.encode(line) for line in together)
    server.on("WATCH", LIST, server.lines(everything, hold=True))
    assert await follow(reflector, 2) == [("LIST", ""), ("ADDED", "a"), ("ADDED", "b")]
    assert reported == ["ns/bad", "an object without a name"]
    assert reflector.resource_version == "14"


async def test_object_that_does_not_decode_is_left_out_of_a_list(
    server: FakeServer, client: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    """By default the log tells which one, and why."""
    reflector = Reflector(client, PODS, Thing)
    server.on("GET", LIST, server.json(page(thing("a", 1), thing("bad", 2, size=[]))))
    [batch] = await take(reflector, 1)
    assert isinstance(batch, Replace)
    assert [item.metadata.name for item in batch.items] == ["a"]
    assert "Left out bad, which does not decode: Expected `int`, got `array`" in caplog.text


async def test_empty_list_may_be_null(server: FakeServer, reflector: Reflector[Thing]) -> None:
    """Go writes a list that was never made as null."""
    server.on("GET", LIST, server.json({"metadata": {"resourceVersion": "5"}, "items": None}))
    assert await take(reflector, 1) == [Replace([], "5")]


async def test_line_that_is_no_event_begins_anew(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """Whatever is between us and the server, its words do not end the watch for good."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.lines(b"<html>"),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    assert await follow(reflector, 1) == [("LIST", ""), ("ADDED", "a")]


async def test_list_that_is_no_list_is_retried(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """A proxy's page with status 200 is a failure like any other."""
    server.on("GET", LIST, server.json("hello"), server.json(page()))
    assert await take(reflector, 1) == [Replace([], "10")]
    assert len(naps.taken) == 1


async def test_server_that_goes_away_and_comes_back(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """A connection that breaks before the stream begins is retried from the same version."""
    server.on("GET", LIST, server.json(page()))
    server.on(
        "WATCH",
        LIST,
        server.break_off(),
        server.break_off(),
        server.lines(event("ADDED", "a", 11), hold=True),
    )
    await follow(reflector, 1)
    assert len(naps.taken) >= 1
    assert len(server.requests("GET")) == 1


async def test_step_reports_a_failure_in_its_state(
    server: FakeServer, reflector: Reflector[Thing], naps: Naps
) -> None:
    """One step alone: it lists, fails, pauses, and leaves the error to be seen."""
    server.on("GET", LIST, server.break_off())
    assert [batch async for batch in reflector.step()] == []
    assert isinstance(reflector.last_error, LostAnswerError)
    assert len(naps.taken) == 1


async def test_probe_of_what_is_not_served(client: ApiClient) -> None:
    """404 on a list: the server does not know the resource."""
    reflector = Reflector(client, LEASES, Thing)
    with pytest.raises(NotServedError, match="the API server does not serve leases"):
        await reflector.probe()


async def test_probe_of_something_that_is_no_api_server(client: ApiClient) -> None:
    """404 on what all of them serve: the address is wrong."""
    reflector = Reflector(client, PODS, Thing)
    with pytest.raises(NotServedError, match="does not look like a Kubernetes API server"):
        await reflector.probe()


async def test_probe_of_a_server_that_never_answers(
    server: FakeServer, reflector: Reflector[Thing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody waits for it: not as long as for any other answer, and it is said for how long."""
    monkeypatch.setattr("moorage.api.watching._PROBE_SECONDS", 0.05)
    server.on("GET", LIST, server.lines(hold=True))
    with pytest.raises(UnreachableError, match="takes connections and did not answer within 0 s"):
        await reflector.probe()


async def test_probe_raises_what_the_loop_would_only_retry(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """At start-up a missing rule is an error; one object is asked for, not all."""
    server.on("GET", LIST, server.refuse(403, "Forbidden"), server.json(page()))
    with pytest.raises(ApiError) as caught:
        await reflector.probe()
    assert caught.value.code == 403
    await reflector.probe()
    assert server.asked[-1].query == {"limit": "1"}


async def test_probe_of_a_server_that_is_not_there() -> None:
    """Nobody listens."""
    async with ApiClient(Connection.to_url("http://127.0.0.1:1")) as client:
        with pytest.raises(UnreachableError):
            await Reflector(client, PODS, Thing).probe()


async def test_cancelling_the_consumer_closes_the_watch(
    server: FakeServer, reflector: Reflector[Thing]
) -> None:
    """A consumer that is cancelled while it waits ends at once."""
    server.on("GET", LIST, server.json(page()))
    server.on("WATCH", LIST, server.lines(hold=True))

    async def consume(batches: AsyncIterator[Batch[Thing]]) -> None:
        async for _ in batches:
            pass

    task = asyncio.create_task(consume(aiter(reflector)))
    async with asyncio.timeout(5):
        await reflector.synced.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
