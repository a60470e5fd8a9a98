"""Devices, classes, claims and pods for tests of DynamicResources, and one decision about a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.cycle import Cycle, Decision
from moorage.framework.handle import Services
from moorage.framework.plugin import Plugin
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.model import DeviceClass, Pod, PodInfo, ResourceClaim, ResourceSlice
from moorage.testing import Cluster
from moorage.testing.assembling import make_framework
from moorage_builtin.dynamic_resources import DynamicResources
from moorage_builtin.dynamic_resources.pod_devices import Allocated, PodDevices

__all__ = [
    "DRIVER",
    "Placed",
    "allocated",
    "claim",
    "cluster",
    "decide",
    "device",
    "device_class",
    "framework_on",
    "gpu_slice",
    "ids",
    "pod",
    "request",
]

DRIVER = "gpu.example.com"


def device(name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Write a device; ``attributes={"model": "a100"}`` and ``capacity={"memory": "8Gi"}`` for short."""
    kinds = {bool: "bool", int: "int", str: "string"}
    attributes = {
        key: value if isinstance(value, dict) else {kinds[type(value)]: value}
        for key, value in fields.pop("attributes", {}).items()
    }
    capacity = {
        key: value if isinstance(value, dict) else {"value": value}
        for key, value in fields.pop("capacity", {}).items()
    }
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def gpu_slice(
    node: str,
    *devices: dict[str, Any] | str,
    name: str = "",
    driver: str = DRIVER,
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    **spec: Any,  # noqa: ANN401 - JSON
) -> ResourceSlice:
    """Make the slice of a node, or with an empty name one for the nodes that `spec` says."""
    where = {"nodeName": node} if node else {}
    return msgspec.convert(
        {
            "metadata": {"name": name or f"slice-{driver}-{node}"},
            "spec": {
                "driver": driver,
                "pool": {
                    "name": pool or node or "shared",
                    "generation": generation,
                    "resourceSliceCount": count,
                },
                "devices": [device(one) if isinstance(one, str) else one for one in devices],
                **where,
                **spec,
            },
        },
        ResourceSlice,
    )


def device_class(
    name: str = "gpu",
    expression: str = f"device.driver == '{DRIVER}'",
    **spec: Any,  # noqa: ANN401 - JSON
) -> DeviceClass:
    """Make a class of devices."""
    selectors = [{"cel": {"expression": expression}}] if expression else []
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}, DeviceClass
    )


def request(
    name: str = "r",
    *,
    of: str = "gpu",
    where: str = "",
    **exactly: Any,  # noqa: ANN401 - JSON
) -> dict[str, Any]:
    """Write a request for devices of a class, selected by an expression if one is given."""
    selectors = [{"cel": {"expression": where}}] if where else []
    return {"name": name, "exactly": {"deviceClassName": of, "selectors": selectors, **exactly}}


def claim(
    name: str,
    *requests: Mapping[str, Any],
    status: Mapping[str, Any] | None = None,
    version: int = 1,
    **devices: Any,  # noqa: ANN401 - JSON
) -> ResourceClaim:
    """Make a claim for one device, or for what is asked; its uid is its name."""
    asked = list(requests) or [request()]
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": name,
                "resourceVersion": str(version),
            },
            "spec": {"devices": {"requests": asked, **devices}},
            "status": status or {},
        },
        ResourceClaim,
    )


def pod(
    name: str,
    *claims: str,
    requests: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    scheduler: str = "default-scheduler",
    **spec: Any,  # noqa: ANN401 - JSON
) -> Pod:
    """Make a pod that uses claims by name; its uid is its name."""
    container = {"name": "c", "resources": {"requests": dict(requests or {})}}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "schedulerName": scheduler,
                "containers": [container],
                "resourceClaims": [{"name": one, "resourceClaimName": one} for one in claims],
                **spec,
            },
            "status": {"phase": "Pending", **(status or {})},
        },
        Pod,
    )


def cluster(*objects: Any, nodes: tuple[str, ...] = ("n1",)) -> Cluster:  # noqa: ANN401 - objects of the API
    """Make a cluster with a class for all devices of the driver."""
    made = Cluster(nodes)
    made.add(device_class(), *objects)
    return made


def ids(node: str, *names: str) -> list[str]:
    """Name devices of a node's pool."""
    return [f"{DRIVER}/{node}/{name}" for name in names]


class Placed(NamedTuple):
    """What came of a pod: its node, the devices of each claim, or a message."""

    node: str
    devices: dict[str, list[str]]
    message: str
    decision: Decision


def framework_on(
    services: Services, *plugins: type[Plugin], args: Mapping[str, Any] | None = None
) -> Framework:
    """Assemble a profile of some plugins, DynamicResources among them."""
    chosen = plugins or (DynamicResources,)
    return make_framework(services, plugins=list(chosen), args={"DynamicResources": args or {}})


def decide(cluster: Cluster, one: Pod, framework: Framework | None = None) -> Placed:
    """Decide about a pod by DynamicResources alone, or by a profile."""
    profile = framework or framework_on(cluster.services())
    decision = Cycle(profile, cluster.cache).decide(
        QueuedPod(PodInfo(one), timestamp=0.0), details=True
    )
    notes = [note for state in decision.states.values() for note in state.values()]
    found: dict[str, list[str]] = {}
    for note in notes:
        if isinstance(note, PodDevices) and decision.node_name:
            on_node = note.devices_on(decision.node_name)
            found = {name: ["/".join(one) for one in ids] for name, ids in on_node.items()}
    return Placed(decision.node_name, found, decision.message, decision)


def allocated(placed: Placed) -> list[Allocated]:
    """Return what the claims of a pod got, as it is to be written."""
    [found] = [
        note.allocations(placed.node)
        for state in placed.decision.states.values()
        for note in state.values()
        if isinstance(note, PodDevices)
    ]
    return found
