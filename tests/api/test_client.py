"""What a request does with the answers, and with the lack of them."""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING, Any

import pytest

from moorage.api.client import STRATEGIC_MERGE_PATCH, ApiClient
from moorage.api.connection import Connection
from moorage.api.pacing import TokenBucket
from moorage.errors import ApiError, LostAnswerError, UnreachableError

if TYPE_CHECKING:
    from tests.api.conftest import FakeServer, Naps


async def test_body_params_and_content_type_reach_the_server(
    server: FakeServer, client: ApiClient
) -> None:
    """What is given is what is sent, and the answer's bytes come back."""
    server.on("PATCH", "/x", server.json({"a": 1}))
    answer = await client.request(
        "PATCH",
        "/x",
        params={"continue": "a+b=="},
        body={"b": None},
        content_type=STRATEGIC_MERGE_PATCH,
    )
    assert answer == b'{"a": 1}'
    [asked] = server.asked
    assert asked.query == {"continue": "a+b=="}
    assert asked.body == {"b": None}
    assert asked.headers["Content-Type"] == STRATEGIC_MERGE_PATCH
    assert asked.headers["User-Agent"].startswith("moorage/")


async def test_recorded_refusal_becomes_an_api_error(
    server: FakeServer, client: ApiClient, answers: dict[str, dict[str, Any]]
) -> None:
    """Code, reason and message are those of the Status that a kube-apiserver sent."""
    recorded = answers["bind a pod that is bound already"]
    server.on("POST", "/x", server.json(recorded["response"], status=recorded["status"]))
    with pytest.raises(
        ApiError, match='pod p1 is already assigned to node "no-such-node"'
    ) as caught:
        await client.request("POST", "/x", body={})
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


async def test_answer_that_is_no_status_gives_its_first_line(client: ApiClient) -> None:
    """An unknown path is answered in plain text."""
    with pytest.raises(ApiError, match=r"^404 page not found$") as caught:
        await client.request("GET", "/nope")
    assert (caught.value.code, caught.value.reason) == (404, "")


async def test_too_many_requests_is_asked_again_when_the_server_says(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """429 waits for Retry-After, stretched by at most a fifth."""
    server.on("GET", "/x", server.refuse(429, retry_after=3), server.json({}))
    assert await client.request("GET", "/x") == b"{}"
    [nap] = naps.taken
    assert 3 <= nap <= 3.6


async def test_retries_are_bounded(server: FakeServer, client: ApiClient, naps: Naps) -> None:
    """A server that never stops saying "later" is believed five times, 30 s at the most."""
    server.on("GET", "/x", server.refuse(429, "TooManyRequests", retry_after=999))
    with pytest.raises(ApiError) as caught:
        await client.request("GET", "/x")
    assert caught.value.retry_after == 999
    assert len(server.asked) == 6
    assert all(30 <= nap <= 36 for nap in naps.taken)


async def test_a_server_error_without_retry_after_is_final(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """Only the server can know that asking again is safe."""
    server.on("POST", "/x", server.refuse(500, "InternalError"))
    with pytest.raises(ApiError):
        await client.request("POST", "/x", body={})
    assert len(server.asked) == 1
    assert not naps.taken


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        pytest.param(
            'pods is forbidden: User "system:serviceaccount:kube-system:moorage" cannot list '
            'resource "pods" in API group "" at the cluster scope',
            "service account kube-system/moorage is not allowed to list pods: add a rule with "
            'apiGroups: [""], resources: ["pods"], verbs: ["list"] to a ClusterRole '
            "that is bound to it",
            id="cluster",
        ),
        pytest.param(
            'leases.coordination.k8s.io "moorage" is forbidden: User "jo" cannot update resource '
            '"leases" in API group "coordination.k8s.io" in the namespace "kube-system"',
            'user "jo" is not allowed to update leases in namespace kube-system: add a rule with '
            'apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["update"] '
            "to a Role that is bound to it",
            id="namespace",
        ),
        pytest.param(
            'pods "p" is forbidden: exceeded quota: q',
            'pods "p" is forbidden: exceeded quota: q',
            id="admission, where no rule would help",
        ),
    ],
)
async def test_forbidden_names_the_missing_rule(
    server: FakeServer, client: ApiClient, message: str, sentence: str
) -> None:
    """A 403 says who may not do what, and which rule to add."""
    server.on("GET", "/x", server.refuse(403, "Forbidden", message))
    with pytest.raises(ApiError) as caught:
        await client.request("GET", "/x")
    assert str(caught.value) == sentence


async def test_unauthorized_names_the_credentials(
    server: FakeServer, client: ApiClient, answers: dict[str, dict[str, Any]]
) -> None:
    """A 401 that renewal does not cure says whose credentials they are, after two attempts."""
    recorded = answers["wrong token"]
    server.on("GET", "/x", server.json(recorded["response"], status=401))
    with pytest.raises(ApiError, match=f"credentials of --master {server.url}") as caught:
        await client.request("GET", "/x")
    assert caught.value.code == 401
    assert len(server.asked) == 2


async def test_refused_connection_is_unreachable() -> None:
    """Nobody listens: one sentence names the URL and the cause, and nothing was sent."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with ApiClient(Connection.to_url(url)) as client:
            with pytest.raises(UnreachableError) as caught:
                await client.request("GET", "/version")
    assert not isinstance(caught.value, LostAnswerError)
    assert str(caught.value).startswith(f"cannot reach GET {url}/version: connection refused;")


async def test_a_request_after_the_end_is_unreachable(server: FakeServer) -> None:
    """Whoever still asks when the process winds down is told so, as of a server that is gone."""
    async with ApiClient(Connection.to_url(server.url)) as client:
        pass
    with pytest.raises(UnreachableError, match="the connection was closed meanwhile"):
        await client.request("GET", "/x")


async def test_unknown_host_is_unreachable() -> None:
    """A name that does not resolve is named."""
    async with ApiClient(Connection.to_url("http://no-such-host.invalid:1")) as client:
        with pytest.raises(UnreachableError, match=r"there is no host no-such-host\.invalid;"):
            await client.request("GET", "/version")


async def test_broken_connection_is_a_lost_answer(server: FakeServer, client: ApiClient) -> None:
    """The request may have arrived; the type of the error says so."""
    server.on("POST", "/x", server.break_off())
    with pytest.raises(LostAnswerError, match="the connection broke before"):
        await client.request("POST", "/x", body={})


async def test_no_answer_in_time_is_a_lost_answer(server: FakeServer, client: ApiClient) -> None:
    """A server that takes too long may be about to do it."""
    server.on("POST", "/x", server.lines(hold=True))
    with pytest.raises(LostAnswerError, match="not answered in time"):
        await client.request("POST", "/x", body={}, timeout=0.05)


async def test_requests_are_not_limited_by_default_and_are_on_demand(server: FakeServer) -> None:
    """With a token bucket, requests beyond the burst wait for their turn."""
    server.on("GET", "/x", server.json({}))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    bucket = TokenBucket(qps=10, burst=2, clock=lambda: 0.0, sleep=sleep)
    async with ApiClient(
        Connection.to_url(server.url), limit=bucket, rng=random.Random(1)
    ) as client:
        for _ in range(4):
            await client.request("GET", "/x")
    assert waits == pytest.approx([0.1, 0.2])
