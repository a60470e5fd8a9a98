"""Quantities written as JSON numbers, which a real API server stores as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock, apply_manifests, load_manifests
from moorage.model.quantities import parse_quantity, write_number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

PODS = "/api/v1/namespaces/default/pods"
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {"requests": {"cpu": 1}, "limits": {"cpu": 1.5, "memory": 8589934592}},
}
WRITTEN = {
    "requests": {"cpu": "1", "memory": "8589934592"},  # of memory, what the limit says
    "limits": {"cpu": "1500m", "memory": "8589934592"},
}
WORKLOAD = {
    "selector": {"matchLabels": {"app": "a"}},
    "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [CONTAINER], "restartPolicy": "Always"},
    },
}
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "",
    "resources": {"requests": {"storage": 5}},
}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1"),
        (110, "110"),
        (1.5, "1500m"),
        (0.1, "100m"),
        (2.0, "2"),
        (1000, "1k"),
        (-1.5, "-1500m"),
        (1e-12, "1n"),
        (10**22, "10000E"),
        (1e22, "10000E"),
    ],
)
def test_a_number_is_written_as_the_api_does(number: float, text: str) -> None:
    """With the largest decimal suffix that leaves it whole, and no finer than a billionth."""
    assert write_number(number) == text
    assert number == 1e-12 or float(parse_quantity(text)) == number


def value_at(item: Any, *path: str | int) -> Any:  # noqa: ANN401 - any JSON
    """Return what stands at a path."""
    for step in path:
        item = item[step]
    return item


def an(kind: str, api_version: str = "v1", **content: Any) -> dict[str, Any]:  # noqa: ANN401 - any fields
    """Return an object named ``a``."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **content}


WHERE = {
    "init container": (
        an("Pod", spec={"containers": [CONTAINER], "initContainers": [{**CONTAINER, "name": "d"}]}),
        ("spec", "initContainers", 0, "resources"),
        WRITTEN,
    ),
    "overhead": (
        an("Pod", spec={"containers": [CONTAINER], "overhead": {"cpu": 0.25}}),
        ("spec", "overhead"),
        {"cpu": "250m"},
    ),
    "the pod's own": (
        an("Pod", spec={"containers": [CONTAINER], "resources": {"requests": {"cpu": 2}}}),
        ("spec", "resources", "requests"),
        {"cpu": "2"},
    ),
    "volume": (
        an("PersistentVolume", spec={"capacity": {"storage": 7}}),
        ("spec", "capacity"),
        {"storage": "7"},
    ),
    "claim": (
        an("PersistentVolumeClaim", spec=CLAIM),
        ("spec", "resources", "requests"),
        {"storage": "5"},
    ),
    "storage capacity": (
        an("CSIStorageCapacity", "storage.k8s.io/v1", capacity=5, storageClassName="s"),
        ("capacity",),
        "5",
    ),
    "largest volume": (
        an("CSIStorageCapacity", "storage.k8s.io/v1", maximumVolumeSize=5, storageClassName="s"),
        ("maximumVolumeSize",),
        "5",
    ),
    "device": (
        an(
            "ResourceSlice",
            "resource.k8s.io/v1",
            spec={"devices": [{"name": "d", "capacity": {"memory": {"value": 8}}}]},
        ),
        ("spec", "devices", 0, "capacity", "memory", "value"),
        "8",
    ),
    "device's attribute stays": (
        an(
            "ResourceSlice",
            "resource.k8s.io/v1",
            spec={"devices": [{"name": "d", "attributes": {"index": {"int": 8}}}]},
        ),
        ("spec", "devices", 0, "attributes", "index", "int"),
        8,
    ),
    "a driver's limit stays": (
        an(
            "CSINode",
            "storage.k8s.io/v1",
            spec={"drivers": [{"name": "d", "nodeID": "a", "allocatable": {"count": 8}}]},
        ),
        ("spec", "drivers", 0, "allocatable", "count"),
        8,
    ),
    "claims of devices": (
        an(
            "ResourceClaim",
            "resource.k8s.io/v1",
            spec={
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "d",
                                "count": 2,
                                "capacity": {"requests": {"memory": 3}},
                            },
                        }
                    ]
                }
            },
        ),
        ("spec", "devices", "requests", 0, "exactly", "capacity", "requests", "memory"),
        "3",
    ),
    "claims of stateful sets": (
        an(
            "StatefulSet",
            "apps/v1",
            spec={
                **WORKLOAD,
                "serviceName": "a",
                "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": CLAIM}],
            },
        ),
        ("spec", "volumeClaimTemplates", 0, "spec", "resources", "requests"),
        {"storage": "5"},
    ),
    **{
        kind: (
            an(kind, "apps/v1", spec=WORKLOAD),
            ("spec", "template", "spec", "containers", 0, "resources"),
            WRITTEN,
        )
        for kind in ("DaemonSet", "Deployment", "ReplicaSet")
    },
    "Job": (
        an(
            "Job",
            "batch/v1",
            spec={
                "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}},
            },
        ),
        ("spec", "template", "spec", "containers", 0, "resources"),
        WRITTEN,
    ),
}


@pytest.mark.parametrize(("item", "path", "expected"), WHERE.values(), ids=WHERE)
def test_numbers_become_text_wherever_quantities_are(
    item: dict[str, Any], path: tuple[str | int, ...], expected: object
) -> None:
    """And only there."""
    server = EmbeddedApiServer(kubelet=False, clock=ManualClock())
    assert value_at(server.store.create(item), *path) == expected


async def test_numbers_are_accepted_over_http(
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """By create, update, patch, and of a node's status; the answer holds what is stored."""
    status, pod = await api("POST", PODS, an("Pod", spec={"containers": [CONTAINER]}))
    assert (status, pod["spec"]["containers"][0]["resources"]) == (201, WRITTEN)
    node = an("Node", status={"capacity": {"cpu": 4, "pods": 110}, "allocatable": {"cpu": 3.5}})
    status, node = await api("POST", "/api/v1/nodes", node)
    assert node["status"]["capacity"] == {"cpu": "4", "pods": "110"}
    assert node["status"]["allocatable"]["cpu"] == "3500m"
    node["status"]["allocatable"] = {"cpu": 3, "pods": 100}
    status, node = await api("PUT", "/api/v1/nodes/a/status", node)
    assert (status, node["status"]["allocatable"]) == (200, {"cpu": "3", "pods": "100"})
    for kind in ("merge-patch", "strategic-merge-patch"):
        patch = {"status": {"capacity": {"cpu": 1.25}}}
        path = "/api/v1/nodes/a/status"
        status, node = await api("PATCH", path, patch, f"application/{kind}+json")
        assert (status, node["status"]["capacity"]["cpu"]) == (200, "1250m")


async def test_a_number_that_is_not_allowed_is_refused_as_its_text_would_be(
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """A negative one, and something that is no number."""
    for quantity, code in ((-1, 422), (True, 400)):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": quantity}}}
        status, _ = await api("POST", PODS, an("Pod", spec={"containers": [container]}))
        assert status == code


async def test_numbers_are_accepted_in_manifests(server: EmbeddedApiServer, tmp_path: Path) -> None:
    """Of nodes, with their status, and of workloads down to their pods."""
    file = tmp_path / "a.json"
    node = an("Node", status={"allocatable": {"cpu": 4, "memory": 1.5, "pods": 110}})
    deployment = an("Deployment", "apps/v1", spec=WORKLOAD)
    file.write_text(json.dumps(node) + json.dumps(deployment))
    await apply_manifests(server.store, load_manifests([file]))
    allocatable = server.store.get("nodes", "a")["status"]["allocatable"]
    assert allocatable == {"cpu": "4", "memory": "1500m", "pods": "110"}
    pod = server.store.list("pods")[0]
    assert pod["spec"]["containers"][0]["resources"] == WRITTEN
