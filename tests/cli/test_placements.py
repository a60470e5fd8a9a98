"""What went where, and why what is pending is pending."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.cli.placements import Outcome, bound_pods, print_outcome, read_outcome
from moorage.embedded import EmbeddedApiServer

REFUSAL = "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate"


def node(name: str, **allocatable: str) -> dict[str, Any]:
    """Make a node of a zone of its own, with 4 CPUs unless said otherwise."""
    resources = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": f"{name}-zone"}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def pod(name: str, *, node_name: str = "", **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest
    """Make a pod that asks for 1 CPU and half a gigabyte."""
    requests = {"cpu": "1", "memory": "512Mi"}
    container = {"name": "main", "image": "web", "resources": {"requests": requests}}
    placed = {"nodeName": node_name} if node_name else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **placed, **spec},
    }


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedApiServer]:
    """Serve two nodes: pods on one, three pods that wait, each for another reason."""
    async with EmbeddedApiServer(kubelet=False) as server:
        server.store.create(node("big", cpu="8", **{"example.com/gpu": "2"}))
        server.store.create(node("small"))
        server.store.create(pod("web-1", node_name="big"))
        server.store.create(pod("web-2", node_name="big"))
        server.store.create(pod("too-big"))
        server.store.create(pod("foreign", schedulerName="other"))
        server.store.create(pod("gated", schedulingGates=[{"name": "later"}]))
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": REFUSAL,
        }
        server.store.patch(
            "pods",
            "too-big",
            {"status": {"conditions": [condition]}},
            namespace="default",
            subresource="status",
        )
        yield server


@pytest.fixture
async def client(server: EmbeddedApiServer) -> AsyncIterator[ApiClient]:
    """Reach it."""
    async with ApiClient(Connection.to_url(server.url)) as client:
        yield client


async def read(client: ApiClient) -> Outcome:
    """Read what a run of 1.2 seconds came to."""
    return await read_outcome(client, served=["default-scheduler", "moorage"], seconds=1.234)


async def test_every_pod_is_told_with_its_node_or_its_reason(
    client: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """One document for programs."""
    print_outcome(await read(client), "json")

    placed = {"namespace": "default", "phase": "Pending", "reason": "", "message": ""}
    waiting = {"namespace": "default", "phase": "Pending", "node": ""}
    assert json.loads(capsys.readouterr().out) == [
        {
            **waiting,
            "name": "foreign",
            "reason": "SchedulerNotServed",
            "message": "it asks for scheduler 'other', and the profiles here are named"
            " default-scheduler or moorage",
        },
        {
            **waiting,
            "name": "gated",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        },
        {**waiting, "name": "too-big", "reason": "Unschedulable", "message": REFUSAL},
        {**placed, "name": "web-1", "node": "big"},
        {**placed, "name": "web-2", "node": "big"},
    ]


async def test_tables_say_the_same_to_people(
    client: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who went where; how full the nodes are; who waits for what; and all in one line."""
    print_outcome(await read(client), "table")

    out = capsys.readouterr().out
    assert out == (
        "What went where\n"
        "NAMESPACE   POD     NODE\n"
        "default     web-1   big\n"
        "default     web-2   big\n"
        "\n"
        "Nodes\n"
        "NODE    ZONE         PODS   CPU             MEMORY\n"
        "big     big-zone     2      2 of 8    25%   1Gi of 8Gi    12%\n"
        "small   small-zone   0      0 of 4     0%   0Gi of 8Gi     0%\n"
        "\n"
        "Pending, and why\n"
        "NAMESPACE   POD       WHY\n"
        "default     foreign   it asks for scheduler 'other', and the profiles here are named"
        " default-scheduler or moorage\n"
        "default     gated     Scheduling is blocked due to non-empty scheduling gates\n"
        f"default     too-big   {REFUSAL}\n"
        "\n"
        "2 of 5 pods bound on 1 node in 1.2 s, 3 pending\n"
    )


async def test_a_node_that_does_not_exist_is_not_counted(
    server: EmbeddedApiServer, client: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod may name any, in its manifest."""
    server.store.create(pod("astray", node_name="nowhere"))
    print_outcome(await read(client), "table")

    assert capsys.readouterr().out.endswith(
        "\n3 of 6 pods bound on 1 node in 1.2 s, 1 of them by the name of a node that does not"
        " exist, 3 pending\n"
    )


async def test_wide_tells_more_of_each(
    client: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests and scheduler of a pod, other resources of a node, the reason in one word."""
    print_outcome(await read(client), "wide")

    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == [
        "default", "web-1", "big", "Pending", "default-scheduler", "0", "1", "0.5Gi",
    ]  # fmt: skip
    assert any(line.endswith("example.com/gpu 0 of 2") for line in lines)
    assert any("SchedulingGated" in line for line in lines)


async def test_on_a_cluster_only_what_this_run_did_is_told(
    server: EmbeddedApiServer, client: ApiClient
) -> None:
    """Neither pods that were there before nor pods of other schedulers."""
    before = await bound_pods(client)
    server.store.bind("too-big", "small", namespace="default")

    outcome = await read_outcome(
        client, served=["default-scheduler"], seconds=1.0, before=before, foreign=False
    )

    assert [one.metadata.name for one in outcome.placed()] == ["too-big"]
    assert [one.metadata.name for one in outcome.pending()] == ["gated"]


@pytest.mark.parametrize(("output", "listed"), [("table", False), ("wide", True), ("json", True)])
async def test_many_pods_are_counted_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str], *, output: str, listed: bool
) -> None:
    """Nodes and what is pending are told all the same."""
    async with EmbeddedApiServer(kubelet=False) as server:
        server.store.create(node("big", pods="500"))
        for number in range(201):
            server.store.create(pod(f"many-{number}", node_name="big"))
        server.store.create(pod("left-over"))
        async with ApiClient(Connection.to_url(server.url)) as client:
            print_outcome(await read(client), output)

    out, _ = capsys.readouterr()
    assert ("many-77" in out) is listed
    assert ("201 pods; -o wide or -o json lists them all.\n" in out) is not listed
    assert "left-over" in out


@pytest.mark.parametrize(("output", "listed"), [("table", False), ("wide", True)])
async def test_many_nodes_are_counted_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str], *, output: str, listed: bool
) -> None:
    """Thousands of lines would hide what is pending."""
    async with EmbeddedApiServer(kubelet=False) as server:
        for number in range(201):
            server.store.create(node(f"many-{number}", pods="5"))
            server.store.create(pod(f"pod-{number}", node_name=f"many-{number}"))
        server.store.create(node("untouched", pods="5"))
        async with ApiClient(Connection.to_url(server.url)) as client:
            print_outcome(await read(client), output)

    out, _ = capsys.readouterr()
    assert ("many-77" in out) is listed
    assert ("untouched" in out) is listed
    assert ("201 nodes took pods; -o wide lists them all.\n" in out) is not listed


async def test_nothing_to_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty cluster is no fault."""
    async with (
        EmbeddedApiServer() as server,
        ApiClient(Connection.to_url(server.url)) as client,
    ):
        print_outcome(await read(client), "table")

    assert capsys.readouterr().out == "There was no pod to schedule.\n"
