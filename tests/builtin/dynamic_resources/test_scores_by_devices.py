"""Resources that stand for devices, in the scores of resources: devices count like the nodes' own."""

from __future__ import annotations

from typing import Any

from tests.builtin.dynamic_resources.devices_kit import (
    DRIVER,
    claim,
    device,
    device_class,
    gpu_slice,
    pod,
)

from moorage.testing import Cluster, SinglePlugin, make_node

GPU = "example.com/gpu"
LEAST = {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": GPU}]}}
MOST = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": GPU}]}}
ONE = pod("p", requests={GPU: "1"})


def cluster(*devices: int, resource: str | None = GPU) -> Cluster:
    """Make nodes that have so many devices each, and none of the resource themselves."""
    made = Cluster([make_node(f"n{index}") for index in range(len(devices))])
    made.add(device_class(extendedResourceName=resource))
    for index, count in enumerate(devices):
        if count:
            made.add(gpu_slice(f"n{index}", *(f"g{number}" for number in range(count))))
    return made


def allocated(name: str, node: str, *devices: str, **result: Any) -> Any:  # noqa: ANN401 - JSON
    """Make a claim that has devices of a node."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": node, "device": one, **result} for one in devices
    ]
    return claim(name, status={"allocation": {"devices": {"results": results}}})


def test_devices_are_capacity_and_allocated_ones_are_requested() -> None:
    """Of four devices, one is taken and the pod takes another; without devices nothing counts."""
    made = cluster(4, 2, 0)
    made.add(allocated("c", "n0", "g3"))

    assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {
        "n0": 50,
        "n1": 50,
        "n2": 0,
    }
    assert SinglePlugin("NodeResourcesFit", made, args=MOST).raw_scores(ONE)["n0"] == 50


def test_pod_that_has_a_device_counts_by_that_device() -> None:
    """What it requests and what its claim has are the same thing."""
    made = Cluster([make_node("n0")], pods=[pod("other", requests={GPU: "1"}, nodeName="n0")])
    made.add(device_class(extendedResourceName=GPU), gpu_slice("n0", "g0", "g1", "g2", "g3"))
    made.add(allocated("c", "n0", "g0"))

    assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": 50}


def test_what_was_set_aside_for_another_pod_counts_in_the_next_score() -> None:
    """Pods that ask for the same do not share the answer."""
    made = cluster(4)
    scores = SinglePlugin("NodeResourcesFit", made, args=LEAST)
    assert scores.sign(ONE) is None
    assert scores.raw_scores(ONE) == {"n0": 75}

    made.add(allocated("c", "n0", "g0", "g1"))

    assert scores.raw_scores(pod("q", requests={GPU: "1"})) == {"n0": 25}


def test_devices_are_balanced_with_the_rest() -> None:
    """The pod brings devices to a half as it does cpu, where they were apart; elsewhere it adds to it."""
    made = cluster(2, 4)
    made.add(allocated("c", "n1", "g0", "g1", "g2"))
    args = {"resources": [{"name": "cpu"}, {"name": GPU}]}
    plugin = SinglePlugin("NodeResourcesBalancedAllocation", made, args=args)
    one = pod("p", requests={GPU: "1", "cpu": "2"})

    assert plugin.sign(one) is None
    assert plugin.raw_scores(one) == {"n0": 75, "n1": 81}


def test_devices_for_administrators_stay_free() -> None:
    """Who looks at a device does not have it."""
    made = cluster(2)
    made.add(allocated("c", "n0", "g0", adminAccess=True))

    assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": 50}


def test_device_with_a_share_taken_is_allocated() -> None:
    """A device for several claims is no longer a free one once one of them has a part of it."""
    made = cluster(0)
    made.add(gpu_slice("n0", device("g0", allowMultipleAllocations=True), "g1"))
    made.add(allocated("c", "n0", "g0", shareID="s"))

    assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": 0}


def test_only_devices_of_the_class_count() -> None:
    """And none where an expression fails for one of them."""
    small, large = (device(size, attributes={"size": size}) for size in ("s", "l"))
    for devices, score in (((small, large), 0), ((small, large, large | {"name": "k"}), 50)):
        made = Cluster([make_node("n0")])
        expression = f"device.attributes['{DRIVER}'].size == 'l'"
        made.add(device_class(expression=expression, extendedResourceName=GPU))
        made.add(gpu_slice("n0", *devices))
        assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": score}

        made.add(gpu_slice("n0", *devices, "without-size"))
        assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": 0}


def test_resource_by_the_name_of_a_class_counts() -> None:
    """Pods can ask for devices of a class that names no resource."""
    implicit = "deviceclass.resource.kubernetes.io/gpu"
    made = cluster(2, resource=None)
    args = {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": implicit}]}}
    one = pod("p", requests={implicit: "1"})

    assert SinglePlugin("NodeResourcesFit", made, args=args).raw_scores(one) == {"n0": 50}


def test_node_that_has_the_resource_itself_is_scored_by_that() -> None:
    """Its devices do not count."""
    made = Cluster([make_node("n0", allocatable={GPU: "5"})])
    made.add(device_class(extendedResourceName=GPU), gpu_slice("n0", "g0"))

    assert SinglePlugin("NodeResourcesFit", made, args=LEAST).raw_scores(ONE) == {"n0": 80}
