"""Tables: ages, and the columns of pods, nodes and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded.tables import Tabulator, age

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.embedded import EmbeddedApiServer


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (12000, "3h20m"),
        (30000, "8h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (8 * 86400, "8d"),
        (3 * 365 * 86400, "3y"),
    ],
)
def test_an_age_is_written_as_kubectl_does(seconds: int, written: str) -> None:
    """Finer units only while they matter."""
    assert age(seconds) == written


def cells_of(server: EmbeddedApiServer, plural: str) -> list[Any]:
    """Return the cells of the only object of a resource, ten minutes from now."""
    resource = server.store.registry.catalogue.named(plural)
    table = Tabulator(resource, now=server.store.registry.clock.now() + 600).table(
        server.store.list(plural), {}
    )
    cells: list[Any] = table["rows"][0]["cells"]
    assert len(cells) == len(table["columnDefinitions"])
    return cells


async def test_a_pod_that_is_being_deleted_says_so(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """And on which node it is."""
    server.store.create(make_pod("a", nodeName="n1"))
    server.store.delete("pods", "a", namespace="default")
    cells = cells_of(server, "pods")
    assert cells[:7] == ["a", "0/1", "Terminating", "0", "10m", "<none>", "n1"]


async def test_a_node_shows_roles_and_whether_it_takes_pods(server: EmbeddedApiServer) -> None:
    """From labels, conditions and the spec."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    server.store.create(node)
    assert cells_of(server, "nodes")[:4] == [
        "n",
        "Ready,SchedulingDisabled",
        "control-plane",
        "10m",
    ]


async def test_an_event_shows_what_it_is_about(server: EmbeddedApiServer) -> None:
    """And how long ago it was last seen."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "FailedScheduling",
        "type": "Warning",
        "message": "m",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    server.store.create(event)
    cells = cells_of(server, "events")
    assert cells[:4] == ["10m", "Warning", "FailedScheduling", "pod/p"]
