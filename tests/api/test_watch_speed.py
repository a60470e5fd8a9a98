"""How many pod events a second come out of a watch."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from moorage.api.resources import PODS
from moorage.api.watching import Changes, Reflector
from moorage.model.pods import Pod

if TYPE_CHECKING:
    from tests.api.conftest import FakeServer

    from moorage.api.client import ApiClient

EVENTS = 20_000


@pytest.mark.bench
async def test_pod_events_a_second(
    server: FakeServer, client: ApiClient, answers: dict[str, dict[str, Any]]
) -> None:
    """5,000 pods a second are needed; the fake server's own time is part of what is measured."""
    note = "watch from a version: what happened since, in order"
    line = msgspec.json.encode(answers[note]["response"][0])
    server.on("GET", "/api/v1/pods", server.json({"metadata": {"resourceVersion": "1"}}))
    server.on("WATCH", "/api/v1/pods", server.lines(*[line] * EVENTS, hold=True))
    seen, batches, begun = 0, 0, time.perf_counter()
    async with aclosing(Reflector(client, PODS, Pod).batches()) as source:
        async for batch in source:
            if isinstance(batch, Changes):
                seen += len(batch.changes)
                batches += 1
            if seen == EVENTS:
                break
    rate = seen / (time.perf_counter() - begun)
    print(f"\nwatch: {rate:,.0f} pod events/s of {len(line)} bytes, {batches} batches")  # noqa: T201
    assert rate >= 5_000
