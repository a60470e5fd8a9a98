"""Whether two schedulers would serve one name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.cli.lease_check import refuse_to_compete
from moorage.embedded import EmbeddedApiServer
from moorage.errors import ConfigurationError


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedApiServer]:
    """Serve a cluster without a scheduler."""
    async with EmbeddedApiServer() as server:
        yield server


@pytest.fixture
async def client(server: EmbeddedApiServer) -> AsyncIterator[ApiClient]:
    """Reach it."""
    async with ApiClient(Connection.to_url(server.url)) as client:
        yield client


def lease(*, holder: str | None, renewed_seconds_ago: float) -> dict[str, Any]:
    """Make kube-scheduler's Lease, which lasts 15 seconds."""
    renewed = datetime.now(UTC) - timedelta(seconds=renewed_seconds_ago)
    spec: dict[str, Any] = {
        "leaseDurationSeconds": 15,
        "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    if holder is not None:
        spec["holderIdentity"] = holder
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": spec,
    }


async def test_who_holds_a_fresh_lease_is_named(
    server: EmbeddedApiServer, client: ApiClient
) -> None:
    """And what to do about it."""
    server.store.create(lease(holder="node-1_5f", renewed_seconds_ago=5))

    with pytest.raises(ConfigurationError) as caught:
        await refuse_to_compete(client, ["moorage", "default-scheduler"])

    assert str(caught.value) == (
        "node-1_5f holds the Lease kube-system/kube-scheduler, so kube-scheduler serves"
        " default-scheduler already; give the profile another schedulerName, or stop"
        " kube-scheduler first"
    )


async def test_another_name_is_nobodys_business(
    server: EmbeddedApiServer, client: ApiClient
) -> None:
    """Standing beside kube-scheduler is what the default is for."""
    server.store.create(lease(holder="node-1_5f", renewed_seconds_ago=5))

    await refuse_to_compete(client, ["moorage"])


@pytest.mark.parametrize(
    ("holder", "renewed_seconds_ago"),
    [pytest.param("node-1_5f", 60, id="expired"), pytest.param("", 5, id="released")],
)
async def test_a_lease_that_nobody_holds_is_no_hindrance(
    server: EmbeddedApiServer, client: ApiClient, holder: str, renewed_seconds_ago: float
) -> None:
    """A kube-scheduler that stopped leaves its Lease behind."""
    server.store.create(lease(holder=holder or None, renewed_seconds_ago=renewed_seconds_ago))

    await refuse_to_compete(client, ["default-scheduler"])


async def test_no_lease_is_no_hindrance(client: ApiClient) -> None:
    """There never was a kube-scheduler."""
    await refuse_to_compete(client, ["default-scheduler"])


async def test_a_clock_that_runs_behind_does_not_hide_a_holder(
    server: EmbeddedApiServer, client: ApiClient
) -> None:
    """A time in the future is a fresh one."""
    server.store.create(lease(holder="node-1_5f", renewed_seconds_ago=-3600))

    with pytest.raises(ConfigurationError):
        await refuse_to_compete(client, ["default-scheduler"])
