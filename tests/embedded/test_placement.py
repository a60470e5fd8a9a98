"""Bindings, beyond what the recorded exchanges show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.embedded import EmbeddedApiServer

BINDING = "/api/v1/namespaces/default/pods/a/binding"


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        pytest.param(
            {"target": {"kind": "Node"}}, 422, "target.name: Required value", id="no node"
        ),
        pytest.param(
            {"target": {"kind": "Pod", "name": "n"}},
            422,
            "target.kind: Unsupported value",
            id="no node kind",
        ),
        pytest.param(
            {"metadata": {"name": "b"}, "target": {"name": "n"}},
            400,
            "does not match",
            id="other name",
        ),
        pytest.param([], 400, "not a Binding object", id="no object"),
    ],
)
async def test_a_binding_that_says_nonsense_is_refused(
    binding: object,
    code: int,
    message: str,
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """And the pod stays unassigned."""
    server.store.create(make_pod("a"))
    status, body = await api("POST", BINDING, binding)
    assert status == code
    assert message in body["message"]
    assert "nodeName" not in server.store.get("pods", "a", namespace="default")["spec"]


async def test_a_pod_that_is_being_deleted_is_not_bound(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A finalizer keeps an unassigned pod in sight."""
    pod = make_pod("a")
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    server.store.create(pod)
    server.store.delete("pods", "a", namespace="default")
    status, body = await api("POST", BINDING, {"target": {"name": "n1"}})
    assert status == 409
    assert "is being deleted, cannot be assigned to a host" in body["message"]


async def test_a_binding_ends_a_nomination(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """``nominatedNodeName`` is cleared, the refusal's reason and message with it."""
    server.store.create(make_pod("a"))
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "m",
    }
    patch = {"status": {"nominatedNodeName": "n1", "conditions": [condition]}}
    server.store.patch("pods", "a", patch, namespace="default", subresource="status")
    server.store.bind("a", "n2", namespace="default")
    status = server.store.get("pods", "a", namespace="default")["status"]
    assert "nominatedNodeName" not in status
    assert status["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
