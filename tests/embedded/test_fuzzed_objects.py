"""Property: whatever an object holds, it is created or refused with a 4xx, never a fault."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.embedded import QUICKSTART, EmbeddedApiServer, ManualClock, load_manifests
from moorage.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["Exists", "In", "NoSchedule", "Always", "-1", "1Gi", "a/b/c", "n1"]),
    st.just([]),
    st.just({}),
    st.lists(st.just({}), min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["key", "name", "cpu", ""]), st.just("1"), max_size=2),
)
SERVER = EmbeddedApiServer(kubelet=False, clock=ManualClock())
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
        "volumeClaimTemplates": [{"metadata": {"name": "v"}}],
    },
}
OBJECTS = [DEPLOYMENT, *(dict(item) for item in load_manifests([QUICKSTART]))]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - any JSON
    """Yield the path of every value within a JSON value."""
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


@st.composite
def broken_objects(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an object of the quickstart in which up to three values are replaced."""
    item: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(OBJECTS)))
    for _ in range(draw(st.integers(1, 3))):
        held = [path for path in places(item) if path[0] not in {"apiVersion", "kind"}]
        *way, last = draw(st.sampled_from(held))
        container: Any = item
        for step in way:
            container = container[step]
        container[last] = draw(VALUES)
    return item


@given(item=broken_objects())
@settings(deadline=None, max_examples=300)
def test_a_broken_object_is_created_or_refused(item: dict[str, Any]) -> None:
    """A refusal has a code in the 400s and says something; what was created can be changed."""
    store = SERVER.store
    metadata = item.get("metadata")
    if isinstance(metadata, dict) and metadata.get("namespace") == "monitoring":
        metadata["namespace"] = "default"
    try:
        created = store.create(item)
    except ApiError as refusal:
        code, message = refusal.code, str(refusal)
    else:
        code, message = 201, "created"
    assert message
    assert code == 201 or 400 <= code < 500, message
    if code != 201:
        return
    resource, metadata = store.resource_of(created).qualified, created["metadata"]
    namespace = metadata.get("namespace", "")
    assert store.update(created) == created
    store.delete(resource, metadata["name"], namespace=namespace, grace_seconds=0)


PATCH_STEPS = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "labels",
        "conditions",
        "containers",
        "resources",
        "initContainers",
        "$patch",
        "$retainKeys",
        "$setElementOrder/conditions",
        "finalizers",
        "target",
        "deleteOptions",
        "preconditions",
    ]
)
PATCHES = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.dictionaries(PATCH_STEPS, inner, max_size=3), st.lists(inner, max_size=2)
    ),
    max_leaves=8,
)


@given(
    patch=st.dictionaries(PATCH_STEPS, PATCHES, max_size=3),
    kind=st.sampled_from(["strategic", "merge"]),
    subresource=st.sampled_from(["", "status", "resize"]),
)
@settings(deadline=None, max_examples=300)
def test_a_broken_patch_is_applied_or_refused(
    patch: dict[str, Any], kind: str, subresource: str
) -> None:
    """Whatever a patch holds, and wherever it is sent."""
    store = SERVER.store
    created = store.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "p-"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
    )
    name = created["metadata"]["name"]
    try:
        store.patch("pods", name, patch, namespace="default", kind=kind, subresource=subresource)
    except ApiError as refusal:
        code = refusal.code
    else:
        code = 200
    assert code == 200 or 400 <= code < 500
    store.registry.shelf(store.registry.catalogue.named("pods")).check_invariants()


@pytest.mark.parametrize("path", ["", "/a", "/a/status", "/a/binding", "/a/eviction"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_of_the_wrong_shape_is_refused_over_http(
    path: str,
    method: str,
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A 4xx with a Status, whatever stands where an object is expected."""
    kinds = ("application/json", "application/merge-patch+json", "application/json-patch+json")
    bodies: list[Any] = [
        [],
        1,
        "x",
        {"metadata": 1},
        {"metadata": {"name": 1}},
        {"spec": 1, "target": 1},
    ]
    for body in bodies:
        for kind in kinds if method == "PATCH" else kinds[:1]:
            if not server.store.list("pods"):
                server.store.create(make_pod("a"))
            url = f"/api/v1/namespaces/default/pods{path}"
            code, answer = await api(method, url, body, kind)
            assert code < 500, answer
