"""What nodes see of pools: which slices and devices are for them, and what can be had of a pool."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builtin.dynamic_resources.devices_kit import (
    DRIVER,
    claim,
    cluster,
    decide,
    device,
    device_class,
    gpu_slice,
    ids,
    pod,
    request,
)

from moorage.testing import Cluster, make_node

ALL = claim("all", request(allocationMode="All"))
BOTH = ("n1", "n2")


def feasible(made: Cluster, name: str = "c") -> set[str]:
    """Return the nodes where a pod gets what a claim asks for."""
    details = decide(made, pod("p", name)).decision.details
    assert details is not None
    return set(details.feasible)


def counter_set(name: str = "card", **counters: str) -> list[dict[str, Any]]:
    """Write a set of counters that devices share."""
    return [{"name": name, "counters": {key: {"value": text} for key, text in counters.items()}}]


def part(name: str, of: str = "card", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Make a device that takes one of the counter ``memory``."""
    counters = {"memory": {"value": "1"}}
    return device(name, consumesCounters=[{"counterSet": of, "counters": counters}], **fields)


def test_slices_say_which_nodes_can_use_them() -> None:
    """By name, by labels, or all nodes; or each device for itself."""
    zone = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
        ]
    }
    nodes = [make_node("n1", labels={"zone": "a"}), make_node("n2", labels={"zone": "b"})]
    for spec, devices, expected in (
        ({"allNodes": True}, ["g0"], {"n1", "n2"}),
        ({"nodeSelector": zone}, ["g0"], {"n2"}),
        ({"perDeviceNodeSelection": True}, [device("g0", nodeSelector=zone)], {"n2"}),
        ({"perDeviceNodeSelection": True}, [device("g0", nodeName="n1")], {"n1"}),
        ({}, ["g0"], set()),
    ):
        made = Cluster(nodes)
        made.add(device_class(), gpu_slice("", *devices, **spec), claim("c"))
        details = decide(made, pod("p", "c")).decision.details
        assert details is not None
        assert set(details.feasible) == expected, spec


def test_pools_that_are_being_replaced_are_left_alone() -> None:
    """Only the newest generation counts, and only once all of it is there."""
    old = gpu_slice("n1", "g0", name="old", generation=1)
    new = gpu_slice("n1", "g1", name="new1", generation=2, count=2)
    assert not decide(cluster(old, new, claim("c")), pod("p", "c")).node
    rest = gpu_slice("n1", "g2", name="new2", generation=2, count=2)
    found = decide(cluster(old, new, rest, claim("c")), pod("p", "c"))
    assert found.devices == {"c": ids("n1", "g1")}

    everything = claim("c", request(allocationMode="All"))
    message = decide(cluster(old, new, everything), pod("p", "c")).message
    assert f"resource pool {DRIVER}/n1 is currently being updated" in message


def test_devices_that_need_no_preparation_are_preferred() -> None:
    """Waiting for conditions takes time, and may fail."""
    slow = gpu_slice("n1", device("g0", bindingConditions=["Attached"]), pool="a", name="slow")
    fast = gpu_slice("n1", "g0", pool="b", name="fast")

    found = decide(cluster(slow, fast, claim("c")), pod("p", "c"))

    assert found.devices == {"c": [f"{DRIVER}/b/g0"]}


@pytest.mark.parametrize(
    ("count", "expected"), [pytest.param(1, {"n1"}, id="whole"), pytest.param(2, set(), id="not")]
)
def test_newer_slices_for_other_nodes_count_where_a_node_misses_some(
    count: int, expected: set[str]
) -> None:
    """A node that sees as many slices as there should be does not look further."""
    old = gpu_slice("n1", "g0", name="old", pool="p", generation=1, count=count)
    new = gpu_slice("n2", "g0", name="new", pool="p", generation=2, count=2)

    assert feasible(cluster(old, new, claim("c"), nodes=BOTH)) == expected


def test_pools_of_one_name_on_two_nodes_are_pools_of_their_own() -> None:
    """Each node sees as many slices as the pool should have."""
    slices = [gpu_slice(node, "g0", pool="p") for node in BOTH]

    assert feasible(cluster(*slices, claim("c"), nodes=BOTH)) == {"n1", "n2"}


def test_pool_in_slices_for_two_nodes_is_whole_for_both() -> None:
    """Each of them has the devices of its own slice."""
    slices = [gpu_slice(node, f"g-{node}", pool="p", count=2) for node in BOTH]
    made = cluster(*slices, ALL, nodes=BOTH)

    assert feasible(made, "all") == {"n1", "n2"}
    assert not feasible(cluster(slices[0], ALL, nodes=BOTH), "all")


def test_slice_without_devices_is_part_of_its_pool() -> None:
    """Also one that is for nodes by their labels."""
    empty = gpu_slice("", name="empty", pool="p", count=2, allNodes=True)
    full = gpu_slice("", "g0", name="full", pool="p", count=2, allNodes=True)

    assert feasible(cluster(empty, full, claim("c"))) == {"n1"}
    message = decide(cluster(empty, ALL), pod("p", "all")).message
    assert f"resource pool {DRIVER}/p is currently being updated" in message


@pytest.mark.parametrize(
    ("slices", "problem"),
    [
        pytest.param(
            [gpu_slice("n1", "g0", "g0")], "duplicate device name g0", id="a device twice"
        ),
        pytest.param(
            [gpu_slice("n1", part("g0"))], "counter set card not found", id="no such counter set"
        ),
        pytest.param(
            [
                gpu_slice("n1", name="a", count=2, sharedCounters=counter_set(cores="1")),
                gpu_slice("n1", part("g0"), name="b", count=2),
            ],
            "counter memory not found in counter set card",
            id="no such counter",
        ),
        pytest.param(
            [
                gpu_slice("n1", name="a", count=3, sharedCounters=counter_set()),
                gpu_slice("n1", name="b", count=3, sharedCounters=counter_set()),
                gpu_slice("n1", "g0", name="c", count=3),
            ],
            "duplicate counter set name card",
            id="a counter set twice",
        ),
        pytest.param(
            [
                gpu_slice("n1", name="a", pool="n1", count=3, sharedCounters=counter_set()),
                gpu_slice("n1", "g0", name="b", pool="n1", count=3),
                gpu_slice("n2", part("g1"), name="c", pool="n1", count=3),
            ],
            "counter memory not found in counter set card",
            id="a device for other nodes",
        ),
        pytest.param(
            [
                gpu_slice(
                    "",
                    device("g0", nodeName="n1"),
                    device("g1", nodeName="n2"),
                    name="a",
                    pool="n1",
                    count=2,
                    perDeviceNodeSelection=True,
                ),
                gpu_slice(
                    "",
                    device("g1", nodeName="n1"),
                    name="b",
                    pool="n1",
                    count=2,
                    perDeviceNodeSelection=True,
                ),
            ],
            "duplicate device name g1",
            id="a device beside one for this node",
        ),
    ],
)
def test_nothing_can_be_had_of_an_invalid_pool(
    slices: list[Any], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says what is wrong with it."""
    found = decide(cluster(*slices, claim("c")), pod("p", "c"))

    assert found.message == (
        "0/1 nodes are available: 1 invalid resource pools were encountered. still not schedulable"
    )
    assert f"Nothing can be had of resource pool {DRIVER}/n1: {problem}" in caplog.text


def test_devices_of_one_name_may_be_for_different_nodes() -> None:
    """In slices of their own, nobody mistakes one for the other."""
    slices = [gpu_slice(node, "g0", pool="p", count=2) for node in BOTH]

    assert feasible(cluster(*slices, claim("c"), nodes=BOTH)) == {"n1", "n2"}


def test_shared_counters_are_seen_by_every_node() -> None:
    """So that all devices are not to be had anywhere while such a pool is not whole."""
    counters = gpu_slice("n2", name="a", count=2, sharedCounters=counter_set(memory="1"))
    devices = gpu_slice("n2", part("g0"), name="b", count=2)
    own = gpu_slice("n1", "g0")

    assert feasible(cluster(counters, devices, own, ALL, nodes=BOTH), "all") == {"n1", "n2"}
    assert not feasible(cluster(counters, own, ALL, nodes=BOTH), "all")


def test_devices_for_other_nodes_take_from_the_same_counters() -> None:
    """Whoever has them."""
    slices = [
        gpu_slice("n1", name="a", pool="p", count=3, sharedCounters=counter_set(memory="1")),
        *(gpu_slice(node, part(f"g-{node}"), pool="p", count=3) for node in BOTH),
    ]
    assert feasible(cluster(*slices, claim("c"), nodes=BOTH)) == {"n1", "n2"}

    result = {"request": "r", "driver": DRIVER, "pool": "p", "device": "g-n2"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})
    assert not feasible(cluster(*slices, claim("c"), other, nodes=BOTH))


def test_devices_elsewhere_that_need_preparation_do_not_make_a_pool_worse() -> None:
    """Each node sees for itself."""
    slow = device("slow", bindingConditions=["Attached"])
    slices = [
        gpu_slice("n1", "fast", name="a1", pool="a", count=2),
        gpu_slice("n2", slow, name="a2", pool="a", count=2),
        gpu_slice("n1", "other", name="b", pool="b"),
    ]

    assert decide(cluster(*slices, claim("c")), pod("p", "c")).devices == {"c": ids("a", "fast")}
