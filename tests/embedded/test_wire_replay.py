"""The 63 exchanges recorded from a real kube-apiserver 1.36, replayed against one server, in order.

Status code, content type and body have to be equal, resourceVersions, times and messages included:
the clock and the first version are set to the recorded ones. What is normalised, and why:

- ``managedFields``: left out; the embedded server keeps no field owners.
- uids and the generated name: each of ours stands for the recorded one at the same place, in
  messages too, and takes its place in later requests.
- The words of Go's JSON parser (exchanges 15, 54) and of Go's struct diff (41): the message is
  compared up to them.
- Discovery: we list fewer resources, without ``storageVersionHash``; each that we list has to be
  equal to the recorded one, but for subresources that stream to containers. Our server version
  and address are our own.
- Exchange 47: the recorded cluster holds an event of its own, which is left out.
- Writes that were not recorded, two pods and thirteen others, are made at the places where the
  recorded versions show them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp

RECORDING = Path(__file__).parents[1] / "data/wire/kube-apiserver-1.36.json"
EXCHANGES: list[dict[str, Any]] = json.loads(RECORDING.read_text())

VERSION_BEFORE = 57
CLOCK = {11: "2026-11-30T18:03:07Z", 38: "2026-11-30T18:03:08Z", 55: "2026-11-30T18:03:15Z"}
PODS_CREATED_BEFORE = {33: "p2", 35: "p3"}
VERSION_REACHED_BEFORE = {60: 89, 61: 93}
WORDED_BY_GO = {15: "json parse error: ", 41: "previously negative)\n", 54: "is not valid: "}
QUIET_SECONDS = 0.1
DISCOVERY = range(11)
WRONG_TOKEN = 59


class Translation:
    """What stands in our answers for the recorded uids and generated names."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}

    def learn(self, recorded: Any, ours: Any) -> None:  # noqa: ANN401 - any JSON
        """Pair the uid and the generated name of one object."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            theirs, mine = recorded.get("metadata", {}), ours.get("metadata", {})
            if "uid" in theirs and "uid" in mine:
                self._ours[theirs["uid"]] = mine["uid"]
            if "generateName" in theirs and "generateName" in mine:
                self._ours[theirs["name"]] = mine["name"]

    def to_ours(self, text: str) -> str:
        """Put our values into recorded text."""
        for recorded, ours in self._ours.items():
            text = text.replace(recorded, ours)
        return text


def without_owners(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Leave ``managedFields`` out, at any depth."""
    if isinstance(value, dict):
        return {
            name: without_owners(inner) for name, inner in value.items() if name != "managedFields"
        }
    return [without_owners(inner) for inner in value] if isinstance(value, list) else value


def normalised(number: int, answer: Any) -> Any:  # noqa: ANN401 - any JSON
    """Normalise an answer as the module's docstring says."""
    answer = without_owners(answer)
    if number == 47:
        own = "openshift-kube-apiserver"
        answer["items"] = [
            item for item in answer["items"] if not item["metadata"]["name"].startswith(own)
        ]
    if number in WORDED_BY_GO:
        mark = WORDED_BY_GO[number]
        answer["message"] = answer["message"].partition(mark)[:2]
        for cause in answer.get("details", {}).get("causes", ()):
            cause["message"] = cause["message"].partition(mark)[:2]
    return answer


def parsed(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read an answer as the recording holds it: JSON, or plain text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


async def watched(answer: aiohttp.ClientResponse, expected: int) -> list[Any]:
    """Return the lines of a watch: as many as are expected and what comes right after them.

    The recorded watches last for seconds after that; there is no need to wait for their end.
    """
    lines = [json.loads(await answer.content.readline()) for _ in range(expected)]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(QUIET_SECONDS):
            lines += [json.loads(line) async for line in answer.content]
    return lines


class Replay:
    """Sends recorded requests to a server."""

    def __init__(self, server: EmbeddedApiServer, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session
        self.translation = Translation()

    async def send(self, exchange: dict[str, Any]) -> tuple[int, str, Any]:
        """Return status, content type and body of our answer."""
        headers = {"Accept": exchange.get("accept") or "*/*"}
        body = exchange.get("body")
        if body is not None:
            text = body if isinstance(body, str) else json.dumps(body)
            body = self.translation.to_ours(text)
            headers["Content-Type"] = exchange["contentType"]
        url = self._server.url + exchange["path"]
        async with self._session.request(
            exchange["method"], url, data=body, headers=headers
        ) as answer:
            if "watch=" in exchange["path"]:
                content: Any = await watched(answer, len(exchange["response"]))
            else:
                content = parsed(await answer.text())
            return answer.status, answer.headers["Content-Type"], content


def fill_up_to(server: EmbeddedApiServer, version: int) -> None:
    """Write objects that no exchange looks at until the server's version is reached."""
    while server.store.registry.version < version:
        name = f"filler-{server.store.registry.version}"
        server.store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


async def test_every_recorded_exchange_is_answered_as_the_real_server_did(
    session: aiohttp.ClientSession, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Exchanges 11 to 62, in order, on one server; the one with a wrong token has its own test."""
    clock = ManualClock()
    differing = []
    async with EmbeddedApiServer(
        kubelet=False, first_version=VERSION_BEFORE, clock=clock
    ) as server:
        replay = Replay(server, session)
        for number, exchange in enumerate(EXCHANGES):
            if number in DISCOVERY or number == WRONG_TOKEN:
                continue
            if number in CLOCK:
                clock.set(datetime.fromisoformat(CLOCK[number]).timestamp())
            if number in PODS_CREATED_BEFORE:
                server.store.create(make_pod(PODS_CREATED_BEFORE[number], labels={"app": "a"}))
            fill_up_to(server, VERSION_REACHED_BEFORE.get(number, 0))
            status, content_type, body = await replay.send(exchange)
            replay.translation.learn(exchange["response"], body)
            recorded = json.loads(replay.translation.to_ours(json.dumps(exchange["response"])))
            expected = (
                exchange["status"],
                exchange["responseContentType"],
                normalised(number, recorded),
            )
            answered = (status, content_type, normalised(number, body))
            if answered != expected:
                differing.append((number, exchange["note"], expected, answered))
    assert differing == []


async def test_a_wrong_token_is_answered_as_recorded(session: aiohttp.ClientSession) -> None:
    """Exchange 59: a 401 Status; and the right token is let in."""
    exchange = EXCHANGES[WRONG_TOKEN]
    async with EmbeddedApiServer(kubelet=False, token="secret") as server:  # noqa: S106 - a test's
        status, _content_type, body = await Replay(server, session).send(exchange)
        right = {"Authorization": "Bearer secret"}
        async with session.get(server.url + exchange["path"], headers=right) as answer:
            let_in = answer.status
    assert (status, body) == (exchange["status"], exchange["response"])
    assert let_in == 200


@pytest.mark.parametrize("number", [3, 4, 5, 6])
async def test_every_resource_that_is_listed_is_described_as_recorded(
    number: int, server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> None:
    """Discovery by group version: our entries are among the recorded ones."""
    exchange = EXCHANGES[number]
    status, content_type, body = await Replay(server, session).send(exchange)
    recorded = exchange["response"]
    for entry in recorded["resources"]:
        entry.pop("storageVersionHash", None)
    assert (status, content_type) == (200, exchange["responseContentType"])
    assert [entry for entry in body["resources"] if entry not in recorded["resources"]] == []
    assert {**body, "resources": []} == {**recorded, "resources": []}


async def test_aggregated_discovery_describes_resources_as_recorded(
    server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> None:
    """What kubectl asks first: the core group in one document, subresources inside."""
    exchange = EXCHANGES[10]
    _status, content_type, body = await Replay(server, session).send(exchange)
    recorded = {
        entry["resource"]: entry
        for entry in exchange["response"]["items"][0]["versions"][0]["resources"]
    }
    for entry in body["items"][0]["versions"][0]["resources"]:
        theirs = recorded[entry["resource"]]
        served = {one["subresource"] for one in entry.get("subresources", ())}
        kept = [one for one in theirs.pop("subresources", ()) if one["subresource"] in served]
        assert entry == {**theirs, **({"subresources": kept} if kept else {})}
    assert content_type == exchange["responseContentType"]


async def test_every_group_that_is_listed_is_described_as_recorded(
    server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> None:
    """The list of groups: names, versions, preferred versions."""
    _status, _type, body = await Replay(server, session).send(EXCHANGES[2])
    recorded = {group["name"]: group for group in EXCHANGES[2]["response"]["groups"]}
    # The real server serves an older version of autoscaling too.
    recorded["autoscaling"]["versions"].pop()
    assert body["groups"] == [recorded[group["name"]] for group in body["groups"]]


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9])
async def test_version_and_health_have_the_recorded_form(
    number: int, server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> None:
    """The same fields and content type; the Kubernetes minor is the recorded one."""
    exchange = EXCHANGES[number]
    status, content_type, body = await Replay(server, session).send(exchange)
    assert (status, content_type) == (exchange["status"], exchange["responseContentType"])
    if isinstance(body, dict):
        assert set(body) == set(exchange["response"])
        assert body.get("minor") == exchange["response"].get("minor")
    else:
        assert body == exchange["response"]
