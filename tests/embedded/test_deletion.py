"""Deleting: grace periods, preconditions, finalizers, collections, namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.embedded import EmbeddedApiServer

POD = "/api/v1/namespaces/default/pods/a"


def bound_pod(server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]) -> None:
    """Create the pod ``a``, bound to a node."""
    server.store.create(make_pod("a"))
    server.store.bind("a", "n1", namespace="default")


async def test_a_bound_pod_stays_until_its_kubelet_ends_it(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A delete marks it; the delete with a grace of 0, which a kubelet sends, takes it away."""
    bound_pod(server, make_pod)
    status, marked = await api("DELETE", POD)
    assert status == 200
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert (await api("GET", POD))[1]["metadata"] == marked["metadata"]
    await api("DELETE", f"{POD}?gracePeriodSeconds=0")
    assert (await api("GET", POD))[0] == 404


async def test_a_second_delete_can_only_shorten_the_grace_period(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A longer grace changes nothing, a shorter one moves the end."""
    bound_pod(server, make_pod)
    for asked, granted in ((20, 20), (40, 20), (5, 5)):
        _status, pod = await api("DELETE", POD, {"gracePeriodSeconds": asked})
        assert pod["metadata"]["deletionGracePeriodSeconds"] == granted


async def test_a_pod_that_has_ended_goes_at_once(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Nothing is running any more that would need time."""
    bound_pod(server, make_pod)
    server.store.patch(
        "pods", "a", {"status": {"phase": "Succeeded"}}, namespace="default", subresource="status"
    )
    server.store.delete("pods", "a", namespace="default")
    assert server.store.list("pods") == []


async def test_a_deletion_can_ask_for_a_version(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A resourceVersion in the preconditions that is not the present one is a conflict."""
    server.store.create(make_pod("a"))
    status, body = await api("DELETE", POD, {"preconditions": {"resourceVersion": "1"}})
    assert (status, body["reason"]) == (409, "Conflict")


async def test_an_object_with_finalizers_waits_for_them(server: EmbeddedApiServer) -> None:
    """It is marked by the delete and goes with the last finalizer."""
    item = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default", "finalizers": ["example.com/hold"]},
    }
    server.store.create(item)
    server.store.delete("persistentvolumeclaims", "c", namespace="default")
    held = server.store.get("persistentvolumeclaims", "c", namespace="default")
    assert held["metadata"]["deletionTimestamp"]
    patch = {"metadata": {"finalizers": None}}
    server.store.patch("persistentvolumeclaims", "c", patch, namespace="default", kind="merge")
    assert server.store.list("persistentvolumeclaims") == []


async def test_most_kinds_are_answered_with_a_status(
    server: EmbeddedApiServer, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """Pods and a few others are returned; of a node the answer says that it is gone."""
    node = server.store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    status, body = await api("DELETE", "/api/v1/nodes/n1")
    assert (status, body["kind"], body["status"]) == (200, "Status", "Success")
    assert body["details"] == {"name": "n1", "kind": "nodes", "uid": node["metadata"]["uid"]}


async def test_a_collection_is_deleted_by_selector(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """What matches goes and is listed in the answer."""
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        server.store.create(make_pod(name, labels={"app": app}))
    path = "/api/v1/namespaces/default/pods?labelSelector=app%3Dx"
    _status, body = await api("DELETE", path)
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "c"]
    assert [pod["metadata"]["name"] for pod in server.store.list("pods")] == ["b"]


async def test_a_namespace_takes_its_objects_along(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Everything in it goes, and nothing can be created in it afterwards."""
    server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}})
    server.store.create(make_pod("a"), namespace="gone")
    server.store.delete("namespaces", "gone")
    assert server.store.list("pods") == []
    with pytest.raises(ApiError, match='namespaces "gone" not found') as refusal:
        server.store.create(make_pod("b"), namespace="gone")
    assert refusal.value.code == 404


async def test_some_namespaces_have_to_stay(server: EmbeddedApiServer) -> None:
    """A cluster cannot do without them."""
    with pytest.raises(ApiError, match="this namespace may not be deleted") as refusal:
        server.store.delete("namespaces", "default")
    assert refusal.value.code == 403


async def test_an_eviction_is_a_deletion(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """With the options that it carries."""
    bound_pod(server, make_pod)
    body = {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 7}}
    status, answer = await api("POST", f"{POD}/eviction", body)
    assert (status, answer["status"]) == (201, "Success")
    pod = server.store.get("pods", "a", namespace="default")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 7
