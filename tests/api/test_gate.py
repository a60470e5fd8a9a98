"""The gate that writes must pass: open while the Lease holds, and not a moment longer."""

from __future__ import annotations

import asyncio

import pytest

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.gate import WriteGate
from moorage.embedded import EmbeddedApiServer
from moorage.errors import NotLeadingError
from moorage.metrics import Metrics

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


class Time:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


async def test_writes_pass_while_it_is_open() -> None:
    """Reads always, writes until the moment named, Events always."""
    time = Time()
    gate = WriteGate(time)
    async with (
        EmbeddedApiServer() as server,
        ApiClient(Connection.to_url(server.url), gate=gate) as client,
    ):
        await client.request("GET", "/api/v1/nodes")
        with pytest.raises(NotLeadingError, match="was not sent"):
            await client.request("POST", "/api/v1/nodes", body=NODE)
        gate.open_until(10.0)
        await client.request("POST", "/api/v1/nodes", body=NODE)
        time.now = 10.0
        with pytest.raises(NotLeadingError):
            await client.request("DELETE", "/api/v1/nodes/n1", body={})
        gate.check("POST", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert [node["metadata"]["name"] for node in server.store.list("nodes")] == ["n1"]


def test_what_was_shut_stays_shut() -> None:
    """Whoever lost the Lease does not write again, whatever comes later."""
    gate = WriteGate(Time())
    gate.open_until(10.0)
    assert gate.is_open
    gate.shut()
    gate.open_until(20.0)
    assert not gate.is_open


async def test_write_that_was_held_up_on_its_way_is_not_sent() -> None:
    """The Lease ran out between the decision to send and the sending."""
    time = Time()
    gate = WriteGate(time)
    gate.open_until(10.0)
    async with (
        EmbeddedApiServer() as server,
        ApiClient(Connection.to_url(server.url), gate=gate) as client,
    ):
        # A first request takes one pass of the loop to connect; time runs out meanwhile.
        asyncio.get_running_loop().call_soon(setattr, time, "now", 11.0)
        with pytest.raises(NotLeadingError):
            await client.request("POST", "/api/v1/nodes", body=NODE)
        gate.open_until(20.0)
        await client.request("POST", "/api/v1/nodes", body=NODE)
    assert len(server.store.list("nodes")) == 1


async def test_requests_are_counted() -> None:
    """By code, method and host, with the time until an answer began."""
    metrics = Metrics()
    async with (
        EmbeddedApiServer() as server,
        ApiClient(Connection.to_url(server.url), metrics=metrics) as client,
    ):
        await client.request("GET", "/api/v1/nodes")
        host = server.url.removeprefix("http://")
        assert metrics.client.requests.value("200", "GET", host) == 1
        assert metrics.client.seconds.count("GET", host) == 1
        assert metrics.client.response_bytes.count("GET", host) == 1
