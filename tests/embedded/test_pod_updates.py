"""What may be changed in a pod that exists, and what a change does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.embedded import EmbeddedApiServer

POD = "/api/v1/namespaces/default/pods/a"


def patched(server: EmbeddedApiServer, patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a strategic merge patch to the pod ``a``."""
    return server.store.patch("pods", "a", patch, namespace="default")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"nodeSelector": {"a": "b"}}, "pod updates may not change", id="node selector"
        ),
        pytest.param({"schedulerName": "other"}, "pod updates may not change", id="scheduler"),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
            "pod updates may not change",
            id="requests",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/g"}]}, "only deletion is allowed", id="gate"
        ),
        pytest.param(
            {"tolerations": []}, "existing toleration can not be modified", id="tolerations"
        ),
    ],
)
async def test_most_of_a_spec_cannot_be_changed(
    change: dict[str, Any],
    message: str,
    server: EmbeddedApiServer,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """422, and nothing is written."""
    before = server.store.create(make_pod("a"))
    with pytest.raises(ApiError, match=message) as refusal:
        patched(server, {"spec": change})
    assert refusal.value.code == 422
    assert server.store.get("pods", "a", namespace="default") == before


async def test_an_image_can_be_changed(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """And makes a new generation."""
    server.store.create(make_pod("a"))
    pod = patched(server, {"spec": {"containers": [{"name": "c", "image": "new"}]}})
    assert pod["spec"]["containers"][0]["image"] == "new"
    assert pod["metadata"]["generation"] == 2


async def test_tolerations_can_be_added(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Those that were there stay."""
    present = server.store.create(make_pod("a"))["spec"]["tolerations"]
    more = [*present, {"key": "k", "operator": "Exists"}]
    assert patched(server, {"spec": {"tolerations": more}})["spec"]["tolerations"] == more


async def test_a_gated_pod_can_be_narrowed(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """The controller that holds the gate decides where the pod may go."""
    server.store.create(make_pod("a", schedulingGates=[{"name": "example.com/g"}]))
    pod = patched(server, {"spec": {"nodeSelector": {"a": "b"}}})
    assert pod["spec"]["nodeSelector"] == {"a": "b"}


async def test_requests_are_changed_through_resize(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """The subresource writes containers' resources and nothing else."""
    server.store.create(make_pod("a"))
    change = {"name": "c", "image": "new", "resources": {"requests": {"cpu": "2"}}}
    patch = {"spec": {"containers": [change]}}
    kind = "application/strategic-merge-patch+json"
    status, pod = await api("PATCH", f"{POD}/resize", patch, kind)
    container = pod["spec"]["containers"][0]
    assert status == 200
    assert container["resources"] == {"requests": {"cpu": "2"}}
    assert container["image"] == "registry.example/app:v1"


async def test_status_and_spec_are_written_apart(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Each endpoint ignores the other part."""
    server.store.create(make_pod("a"))
    assert patched(server, {"status": {"phase": "Running"}})["status"]["phase"] == "Pending"
    patch = {"status": {"phase": "Running"}, "spec": {"nodeName": "n1"}}
    pod = server.store.patch("pods", "a", patch, namespace="default", subresource="status")
    assert pod["status"]["phase"] == "Running"
    assert "nodeName" not in pod["spec"]


async def test_a_write_that_changes_nothing_makes_no_version(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Nor an event."""
    before = server.store.create(make_pod("a", labels={"x": "y"}))
    assert patched(server, {"metadata": {"labels": {"x": "y"}}}) == before
    assert server.store.update(before) == before


async def test_an_update_of_an_old_version_is_a_conflict(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Optimistic concurrency: the second of two writers loses."""
    first = server.store.create(make_pod("a"))
    first["metadata"]["labels"] = {"x": "y"}
    server.store.update(first)
    with pytest.raises(ApiError, match="the object has been modified") as refusal:
        server.store.update(first)
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")


async def test_what_a_caller_holds_is_no_part_of_the_store(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Objects given and returned are copies."""
    given = make_pod("a")
    returned = server.store.create(given)
    given["spec"]["containers"].clear()
    returned["spec"]["containers"].clear()
    assert server.store.get("pods", "a", namespace="default")["spec"]["containers"]
