"""Resources that stand for devices of a class: who serves them where, and what is asked for."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.builtin.dynamic_resources.devices_kit import (
    claim,
    decide,
    device_class,
    framework_on,
    gpu_slice,
    pod,
)

from moorage.cache.devices import ClassStore
from moorage.model import Pod
from moorage.testing import Cluster, make_node
from moorage_builtin.dynamic_resources import DynamicResources
from moorage_builtin.dynamic_resources.extended import MARK, requests_for
from moorage_builtin.node_resources_fit import NodeResourcesFit

GPU = "example.com/gpu"


def cluster(*gpus: int) -> Cluster:
    """Make nodes that have so many of the resource themselves, and two devices each."""
    made = Cluster(
        [
            make_node(f"n{index}", allocatable={GPU: str(count)} if count else {})
            for index, count in enumerate(gpus)
        ]
    )
    made.add(device_class(extendedResourceName=GPU))
    made.add(*(gpu_slice(f"n{index}", "g0", "g1") for index in range(len(gpus))))
    return made


def place(made: Cluster, one: Pod) -> Any:  # noqa: ANN401 - the kit's outcome
    """Decide about a pod by fit and devices."""
    profile = framework_on(made.services(), NodeResourcesFit, DynamicResources)
    return decide(made, one, profile)


def test_node_without_the_resource_gives_devices() -> None:
    """And not more than it has."""
    found = place(cluster(0), pod("p", requests={GPU: "2"}))
    assert found.node == "n0"
    assert found.devices == {
        "<extended-resources>": ["gpu.example.com/n0/g0", "gpu.example.com/n0/g1"]
    }

    message = place(cluster(0), pod("p", requests={GPU: "3"})).message
    assert "1 cannot allocate all claims" in message


def test_node_with_the_resource_gives_that() -> None:
    """No claim is needed there; what is short there is short."""
    found = place(cluster(2), pod("p", requests={GPU: "2"}))
    assert found.node == "n0"
    assert found.devices == {}

    assert f"1 Insufficient {GPU}" in place(cluster(2), pod("p", requests={GPU: "3"})).message


def test_resource_without_a_class_is_no_device() -> None:
    """It is short, as ever."""
    made = cluster(0)
    made.cache.devices.classes.drop("gpu")

    assert f"1 Insufficient {GPU}" in place(made, pod("p", requests={GPU: "1"})).message


def test_claims_and_resources_of_one_pod_are_allocated_together() -> None:
    """They get different devices."""
    made = cluster(0)
    made.add(claim("c"))

    found = place(made, pod("p", "c", requests={GPU: "1"}))

    assert found.devices == {
        "c": ["gpu.example.com/n0/g0"],
        "<extended-resources>": ["gpu.example.com/n0/g1"],
    }


def test_claim_of_an_earlier_attempt_is_deleted_first() -> None:
    """Nobody knows whether it still fits."""
    made = cluster(0)
    old = claim("p-extended-resources-x")
    metadata = msgspec.convert(
        {
            **msgspec.to_builtins(old.metadata),
            "annotations": {MARK: "true"},
            "ownerReferences": [{"uid": "p", "controller": True}],
        },
        type(old.metadata),
    )
    made.add(msgspec.structs.replace(old, metadata=metadata))

    message = place(made, pod("p", requests={GPU: "1"})).message

    assert message.startswith(
        "0/1 nodes are available: 1 cannot schedule extended resource claim. "
    )
    assert message.endswith("deletion of ResourceClaim completed")


def asked(**containers: list[tuple[str, int, str]]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the requests of a pod's claim and whom they serve: (name, count, restart policy)."""

    def written(listed: list[tuple[str, int, str]]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "resources": {"requests": {GPU: str(count)} if count else {}},
                **({"restartPolicy": policy} if policy else {}),
            }
            for name, count, policy in listed
        ]

    one = msgspec.convert(
        {
            "metadata": {"name": "p", "uid": "p"},
            "spec": {
                "initContainers": written(containers.get("init", [])),
                "containers": written(containers["main"]),
            },
        },
        Pod,
    )
    classes = ClassStore()
    classes.put(device_class(extendedResourceName=GPU))
    made, served = requests_for(one, [GPU], classes)
    counts = {
        request.name: request.exactly.count
        for request in made.spec.devices.requests
        if request.exactly is not None
    }
    return counts, [(one.container, one.request) for one in served]


def test_containers_that_end_use_devices_of_those_that_start_later() -> None:
    """What they need beyond that is asked for once, for the one that needs most."""
    counts, served = asked(init=[("i0", 5, ""), ("i1", 4, "")], main=[("c0", 2, ""), ("c1", 1, "")])

    assert counts == {
        "container-0-request-0": 2,
        "container-2-request-0": 2,
        "container-3-request-0": 1,
    }
    assert served == [
        ("c0", "container-2-request-0"),
        ("c1", "container-3-request-0"),
        ("i0", "container-2-request-0"),
        ("i0", "container-3-request-0"),
        ("i0", "container-0-request-0"),
        ("i1", "container-2-request-0"),
        ("i1", "container-3-request-0"),
        ("i1", "container-0-request-0"),
    ]


def test_sidecars_have_devices_of_their_own() -> None:
    """Those that started before have gone by then, or run beside them."""
    counts, _ = asked(init=[("side", 1, "Always"), ("i1", 2, "")], main=[("c0", 1, "")])

    assert counts == {
        "container-0-request-0": 1,
        "container-1-request-0": 1,
        "container-2-request-0": 1,
    }
