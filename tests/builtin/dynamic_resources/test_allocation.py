"""Which devices a pod gets on which node, feature by feature."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builtin.dynamic_resources.devices_kit import (
    DRIVER,
    allocated,
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

from moorage.model.devices import ResourceClaimSpec
from moorage.testing import Cluster

A100, H100 = {"model": "a100"}, {"model": "h100"}
IS_H100 = f"device.attributes['{DRIVER}'].model == 'h100'"


def test_first_devices_that_fit_are_taken_in_order() -> None:
    """Within a pool, devices are tried as the driver lists them."""
    found = decide(
        cluster(gpu_slice("n1", "g2", "g0", "g1"), claim("c", request(count=2))), pod("p", "c")
    )

    assert found.node == "n1"
    assert found.devices == {"c": ids("n1", "g2", "g0")}


def test_node_without_enough_devices_is_refused() -> None:
    """With the words of kube-scheduler."""
    found = decide(cluster(gpu_slice("n1", "g0"), claim("c", request(count=2))), pod("p", "c"))

    assert found.message == (
        "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable"
    )


def test_earlier_choice_is_taken_back_where_a_later_request_needs_it() -> None:
    """The search does not stop at the first choice."""
    slices = gpu_slice("n1", device("g0", attributes=H100), device("g1", attributes=A100))
    asked = claim("c", request("any"), request("h100", where=IS_H100))

    assert decide(cluster(slices, asked), pod("p", "c")).devices == {"c": ids("n1", "g1", "g0")}


def test_all_claims_of_a_pod_are_allocated_together() -> None:
    """No device goes to two of them."""
    found = decide(
        cluster(gpu_slice("n1", "g0", "g1"), claim("c1"), claim("c2")), pod("p", "c1", "c2")
    )

    assert found.devices == {"c1": ids("n1", "g0"), "c2": ids("n1", "g1")}


def test_allocated_devices_are_not_given_again() -> None:
    """Whatever claim has them."""
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g0"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})

    found = decide(cluster(gpu_slice("n1", "g0", "g1"), claim("c"), other), pod("p", "c"))

    assert found.devices == {"c": ids("n1", "g1")}


def test_all_devices_means_each_that_is_selected() -> None:
    """And fails where one of them is in use, or there is none."""
    slices = gpu_slice("n1", device("g0", attributes=H100), "g1", device("g2", attributes=H100))
    of_model = f"'model' in device.attributes['{DRIVER}']"
    asked = claim("c", request(where=of_model, allocationMode="All"))

    assert decide(cluster(slices, asked), pod("p", "c")).devices == {"c": ids("n1", "g0", "g2")}

    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g2"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})
    assert not decide(cluster(slices, asked, other), pod("p", "c")).node
    assert not decide(cluster(gpu_slice("n1", "g1"), asked), pod("p", "c")).node


def test_all_devices_are_those_with_room_for_the_request() -> None:
    """Of devices that are shared, full ones are not asked for; nor those without the capacity."""
    devices = [
        device(name, capacity=capacity, allowMultipleAllocations=True)
        for name, capacity in (
            ("g0", {"memory": "10Gi"}),
            ("g1", {"memory": "10Gi"}),
            ("g2", {"memory": "2Gi"}),
            ("g3", {"cores": "8"}),
        )
    ]
    made = cluster(
        gpu_slice("n1", *devices),
        claim("other", status=taken("8Gi", "1")),
        claim("c", request(allocationMode="All", **amount("4Gi"))),
    )

    assert decide(made, pod("p", "c")).devices == {"c": ids("n1", "g1")}


def test_constraint_against_all_devices_is_told_of() -> None:
    """No other choice could do, so the message names claim, request and device."""
    devices = [device(f"g{index}", attributes={"numa": index}) for index in range(2)]
    constraints = [{"matchAttribute": f"{DRIVER}/numa"}]
    asked = claim("c", request(allocationMode="All"), constraints=constraints)

    found = decide(cluster(gpu_slice("n1", *devices), asked), pod("p", "c"))

    assert (
        f"claim default/c, request r: cannot add device {DRIVER}/n1/g1 because a claim constraint "
        "would not be satisfied"
    ) in found.message


def test_alternatives_are_tried_in_order_and_score() -> None:
    """A node with devices for the first alternative is preferred."""
    alternatives = {
        "name": "r",
        "firstAvailable": [
            {
                "name": "best",
                "deviceClassName": "gpu",
                "selectors": [{"cel": {"expression": IS_H100}}],
            },
            {"name": "any", "deviceClassName": "gpu"},
        ],
    }
    made = cluster(
        gpu_slice("n1", device("g0", attributes=A100)),
        gpu_slice("n2", device("g0", attributes=H100)),
        claim("c", alternatives),
        nodes=("n1", "n2"),
    )

    found = decide(made, pod("p", "c"))

    assert found.node == "n2"
    assert found.decision.details is not None
    assert found.decision.details.totals == {"n1": 87, "n2": 100}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param("matchAttribute", ["g0", "g2"], id="the same for all"),
        pytest.param("distinctAttribute", ["g0", "g1"], id="each another"),
    ],
)
def test_constraints_hold_between_devices(constraint: str, expected: list[str]) -> None:
    """Devices without the attribute are left out."""
    devices = [
        device("none"),
        *(device(f"g{index}", attributes={"numa": index % 2}) for index in range(4)),
    ]
    asked = claim("c", request(count=2), constraints=[{constraint: f"{DRIVER}/numa"}])

    found = decide(cluster(gpu_slice("n1", *devices), asked), pod("p", "c"))

    assert found.devices == {"c": ids("n1", *expected)}


def test_constraint_is_about_the_requests_that_it_names() -> None:
    """Others are free."""
    devices = [device(f"g{index}", attributes={"numa": index}) for index in range(3)]
    constraints = [{"matchAttribute": f"{DRIVER}/numa", "requests": ["a"]}]
    asked = claim("c", request("a"), request("b"), constraints=constraints)

    assert decide(cluster(gpu_slice("n1", *devices), asked), pod("p", "c")).node == "n1"


def test_admin_access_shares_devices_in_use() -> None:
    """And keeps nobody else from having them."""
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g0"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})
    asked = claim("c", request(adminAccess=True, allocationMode="All"))
    made = cluster(gpu_slice("n1", "g0"), asked, other)

    assert decide(made, pod("p", "c")).devices == {"c": ids("n1", "g0")}

    watching = claim(
        "other", status={"allocation": {"devices": {"results": [result | {"adminAccess": True}]}}}
    )
    assert decide(cluster(gpu_slice("n1", "g0"), claim("c"), watching), pod("p", "c")).node == "n1"


def test_admin_access_shares_devices_with_other_claims_of_the_pod() -> None:
    """What comes later may not have what was given for it, unless that is for admins as well."""
    admin, user = request(adminAccess=True), request()
    for first, second, expected in (
        (admin, user, {"c1": ids("n1", "g0"), "c2": ids("n1", "g1")}),
        (user, admin, {"c1": ids("n1", "g0"), "c2": ids("n1", "g0")}),
        (admin, admin, {"c1": ids("n1", "g0"), "c2": ids("n1", "g0")}),
    ):
        made = cluster(gpu_slice("n1", "g0", "g1"), claim("c1", first), claim("c2", second))
        assert decide(made, pod("p", "c1", "c2")).devices == expected


def test_no_claim_has_one_device_twice() -> None:
    """Not even with admin access."""
    asked = claim("c", request("user"), request("admin", adminAccess=True))

    found = decide(cluster(gpu_slice("n1", "g0", "g1"), asked), pod("p", "c"))
    assert found.devices == {"c": ids("n1", "g0", "g1")}
    assert not decide(cluster(gpu_slice("n1", "g0"), asked), pod("p", "c")).node


def test_admin_access_tries_devices_in_use_and_free_ones() -> None:
    """Both are alike but for that, and a later request may need the free one."""
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g1"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})
    asked = claim("c", request("admin", adminAccess=True), request("user"))

    found = decide(cluster(gpu_slice("n1", "g0", "g1"), asked, other), pod("p", "c"))

    assert found.devices == {"c": ids("n1", "g1", "g0")}


def test_tainted_devices_are_for_those_who_tolerate_it() -> None:
    """As with nodes; other effects only inform."""
    taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
    slices = gpu_slice("n1", device("g0", taints=[taint]))
    tolerant = request(tolerations=[{"key": "broken", "operator": "Exists"}])
    wrong = request(tolerations=[{"key": "broken", "value": "no"}])

    assert not decide(cluster(slices, claim("c")), pod("p", "c")).node
    assert not decide(cluster(slices, claim("c", wrong)), pod("p", "c")).node
    assert decide(cluster(slices, claim("c", tolerant)), pod("p", "c")).node == "n1"
    harmless = gpu_slice("n1", device("g0", taints=[taint | {"effect": "None"}]))
    assert decide(cluster(harmless, claim("c")), pod("p", "c")).node == "n1"


def partitions(*names: str, each: str) -> list[dict[str, Any]]:
    """Make devices that take from the counter ``memory`` of the set ``card``."""
    consumed = [{"counterSet": "card", "counters": {"memory": {"value": each}}}]
    return [device(name, consumesCounters=consumed) for name in names]


def test_partitions_of_a_device_share_its_counters() -> None:
    """Two halves, or the whole; what another claim has counts as well."""
    counters = [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]
    slices = (
        gpu_slice("n1", name="counters", count=2, sharedCounters=counters),
        gpu_slice(
            "n1",
            *partitions("whole", each="80Gi"),
            *partitions("half0", "half1", each="40Gi"),
            name="devices",
            count=2,
        ),
    )
    assert not decide(cluster(*slices, claim("c", request(count=3))), pod("p", "c")).node
    found = decide(cluster(*slices, claim("c", request(count=2))), pod("p", "c"))
    assert found.devices == {"c": ids("n1", "half0", "half1")}

    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "half0"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})
    assert decide(cluster(*slices, claim("c"), other), pod("p", "c")).devices == {
        "c": ids("n1", "half1")
    }


def test_admin_access_to_a_partition_takes_from_the_counters() -> None:
    """For as long as the pod is decided on."""
    counters = [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]
    slices = (
        gpu_slice("n1", name="counters", count=2, sharedCounters=counters),
        gpu_slice("n1", *partitions("half0", "half1", each="60Gi"), name="devices", count=2),
    )
    asked = claim("c", request("admin", adminAccess=True), request("user"))

    assert not decide(cluster(*slices, asked), pod("p", "c")).node


def test_counters_that_are_overdrawn_keep_all_who_take_from_counters_waiting() -> None:
    """Also from other counters; devices that take from none are not concerned."""
    little = {"memory": {"value": "1Gi"}}
    slices = (
        gpu_slice(
            "n1",
            name="counters",
            count=2,
            sharedCounters=[
                {"name": name, "counters": {"memory": {"value": "10Gi"}}}
                for name in ("card", "disk")
            ],
        ),
        gpu_slice(
            "n1",
            *partitions("g0", each="20Gi"),
            device("g1", consumesCounters=[{"counterSet": "disk", "counters": little}]),
            "g2",
            name="devices",
            count=2,
        ),
    )
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g0"}
    other = claim("other", status={"allocation": {"devices": {"results": [result]}}})

    found = decide(cluster(*slices, claim("c"), other), pod("p", "c"))

    assert found.devices == {"c": ids("n1", "g2")}


def shared_device(**policy: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Make a device for several claims, of 10Gi."""
    memory = {"value": "10Gi", **({"requestPolicy": policy} if policy else {})}
    return device("g0", capacity={"memory": memory}, allowMultipleAllocations=True)


def amount(text: str) -> dict[str, Any]:
    """Ask for some memory."""
    return {"capacity": {"requests": {"memory": text}}}


def taken(text: str, share: str) -> dict[str, Any]:
    """Write what a claim has of the shared device."""
    result = {
        "request": "r",
        "driver": DRIVER,
        "pool": "n1",
        "device": "g0",
        "shareID": share,
        "consumedCapacity": {"memory": text},
    }
    return {"allocation": {"devices": {"results": [result]}}}


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        pytest.param("4Gi", True, id="what is left"),
        pytest.param("4097Mi", False, id="more than is left"),
    ],
)
def test_capacity_of_a_shared_device_is_divided(asked: str, fits: bool) -> None:  # noqa: FBT001 - a case
    """Several claims have it at once."""
    others = [claim("o1", status=taken("4Gi", "1")), claim("o2", status=taken("2Gi", "2"))]
    made = cluster(gpu_slice("n1", shared_device()), claim("c", request(**amount(asked))), *others)

    assert bool(decide(made, pod("p", "c")).node) is fits


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        pytest.param({}, None, "10Gi", id="all by default"),
        pytest.param({"default": "1Gi"}, None, "1Gi", id="the default"),
        pytest.param(
            {"default": "1Gi", "validValues": ["1Gi", "4Gi"]}, "2Gi", "4Gi", id="the next value"
        ),
        pytest.param(
            {"validRange": {"min": "1Gi", "step": "512Mi"}}, "1100Mi", "1536Mi", id="the next step"
        ),
        pytest.param({"validRange": {"min": "2Gi"}}, "1Gi", "2Gi", id="the least"),
        pytest.param(
            {"validRange": {"min": "0", "step": "1"}}, "4096", "4Ki", id="in powers of two"
        ),
        pytest.param({"validRange": {"min": "0", "step": "8"}}, "995", "1k", id="or of ten"),
        pytest.param(
            {"validRange": {"min": "0", "step": "500m"}}, "1200m", "2", id="steps are whole"
        ),
        pytest.param({"validRange": {"min": "1Gi", "max": "2Gi"}}, "3Gi", None, id="too much"),
        pytest.param({"validValues": ["1Gi"]}, "3Gi", None, id="no such value"),
    ],
)
def test_requests_for_capacity_follow_the_policy(
    policy: dict[str, Any], asked: str | None, consumed: str | None
) -> None:
    """Rounded up to what can be had."""
    wanted = request(**amount(asked)) if asked else request()
    made = cluster(gpu_slice("n1", shared_device(**policy)), claim("c", wanted))

    found = decide(made, pod("p", "c"))

    assert bool(found.node) is (consumed is not None)
    if consumed:
        [one] = allocated(found)
        [result] = one.allocation.devices.results
        assert result.consumed_capacity == {"memory": consumed}
        assert result.share_id


def test_claim_with_devices_elsewhere_refuses_the_node() -> None:
    """And its devices are given back, where nobody else uses it."""
    result = {"request": "r", "driver": DRIVER, "pool": "n2", "device": "g0"}
    field = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    allocation = {"devices": {"results": [result]}, "nodeSelector": selector}
    status = {"allocation": allocation}

    found = decide(cluster(claim("c", status=status)), pod("p", "c"))
    assert found.message == (
        "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of "
        "ResourceClaim completed"
    )

    used = {**status, "reservedFor": [{"resource": "pods", "name": "other", "uid": "other"}]}
    found = decide(cluster(claim("c", status=used)), pod("p", "c"))
    assert found.message.endswith("still not schedulable")


def test_claim_that_too_many_use_refuses_the_pod() -> None:
    """The API allows 256 pods."""
    users = [{"resource": "pods", "name": f"u{index}", "uid": f"u{index}"} for index in range(256)]
    status = {"allocation": {"devices": {"results": []}}, "reservedFor": users}

    assert (
        "resourceclaim in use" in decide(cluster(claim("c", status=status)), pod("p", "c")).message
    )
    assert decide(cluster(claim("c", status=status)), pod("u0", "c")).node == "n1"


def test_first_claim_that_cannot_be_used_is_told_of() -> None:
    """Whatever is wrong with it, and with claims after it."""
    users = [{"resource": "pods", "name": f"u{index}", "uid": f"u{index}"} for index in range(256)]
    full = claim("full", status={"allocation": {"devices": {"results": []}}, "reservedFor": users})
    made = cluster(full, claim("odd", request(of="unknown")))

    first = decide(made, pod("p1", "odd", "full")).message
    second = decide(made, pod("p2", "full", "odd")).message

    assert "request r: device class unknown does not exist" in first
    assert "resourceclaim in use" in second


def test_more_devices_than_a_claim_can_have_are_refused() -> None:
    """With the number and the bound."""
    message = decide(
        cluster(gpu_slice("n1", "g0"), claim("c", request(count=33))), pod("p", "c")
    ).message

    assert (
        "claim default/c: number of requested devices 33 exceeds the claim limit of 32" in message
    )


def test_capacities_are_asked_for_by_the_names_that_devices_give_them() -> None:
    """With the driver's domain it is another name."""
    wanted = request(capacity={"requests": {f"{DRIVER}/memory": "1Gi"}})

    assert not decide(
        cluster(gpu_slice("n1", shared_device()), claim("c", wanted)), pod("p", "c")
    ).node


@pytest.mark.parametrize(
    ("memory", "fits"),
    [pytest.param("80Gi", True, id="twice"), pytest.param("70Gi", False, id="once")],
)
def test_shared_device_without_capacities_takes_from_the_counters_for_every_claim(
    memory: str,
    fits: bool,  # noqa: FBT001 - a case
) -> None:
    """Only capacities tell of those who have a share of it already."""
    counters = [{"name": "card", "counters": {"memory": {"value": memory}}}]
    [half] = partitions("g0", each="40Gi")
    result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "g0", "shareID": "1"}
    made = cluster(
        gpu_slice("n1", name="counters", count=2, sharedCounters=counters),
        gpu_slice("n1", half | {"allowMultipleAllocations": True}, name="devices", count=2),
        claim("other", status={"allocation": {"devices": {"results": [result]}}}),
        claim("c"),
    )

    assert bool(decide(made, pod("p", "c")).node) is fits


def test_drivers_are_told_of_configurations_request_by_request() -> None:
    """Those of a class once, for all requests of that class; those of the claim as it names them."""
    made = Cluster(["n1"])
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}
    config = [{"requests": ["a", "b"], **opaque}, {"requests": ["other"], **opaque}, opaque]
    made.add(
        device_class(config=[opaque]),
        gpu_slice("n1", "g0", "g1"),
        claim("c", request("a"), request("b"), config=config),
    )

    [one] = allocated(decide(made, pod("p", "c")))

    assert list(one.allocation.devices.config) == [
        {"source": "FromClass", "requests": ["a", "b"], **opaque},
        {"source": "FromClaim", "requests": ["a", "b"], **opaque},
        {"source": "FromClaim", **opaque},
    ]


def test_equal_nodes_are_searched_once() -> None:
    """Whatever their pools and devices are called: 200 nodes cost one evaluation per expression."""
    names = [f"n{index}" for index in range(200)]
    made = cluster(claim("c", request(count=2)), nodes=tuple(names))
    made.add(*(gpu_slice(name, f"{name}-a", f"{name}-b") for name in names))

    found = decide(made, pod("p", "c"))

    [note] = [
        note
        for state in found.decision.states.values()
        for note in state.values()
        if hasattr(note, "_outcomes")
    ]
    assert len(note._outcomes) == 1
    assert found.devices == {"c": ids(found.node, f"{found.node}-a", f"{found.node}-b")}


def test_few_nodes_with_devices_are_found_among_many() -> None:
    """Those without devices get one answer together, the others one each."""
    names = tuple(f"n{index}" for index in range(50))
    made = cluster(claim("c", request(count=2)), nodes=names)
    made.add(gpu_slice("n17", "a", "b"), gpu_slice("n31", "a"), gpu_slice("gone", "a", "b"))

    found = decide(made, pod("p", "c"))

    assert found.devices == {"c": ids("n17", "a", "b")}
    assert found.decision.feasible_count == 1


def test_claim_that_asks_for_no_devices_is_allocated_on_any_node() -> None:
    """Also on those without devices, each of which is let pass."""
    nothing = msgspec.structs.replace(claim("c"), spec=ResourceClaimSpec())
    made = cluster(gpu_slice("n2", "a"), nothing, nodes=("n1", "n2", "n3"))

    found = decide(made, pod("p", "c"))

    assert found.decision.feasible_count == 3
    assert found.devices == {"c": []}


def test_hopeless_search_ends_soon() -> None:
    """Devices that are alike are not tried in each other's place."""
    devices = [device(f"g{index}", attributes={"numa": 0}) for index in range(30)]
    asked = claim(
        "c",
        request("a", count=14),
        request("b", count=14),
        request("c", where="device.driver == 'other'"),
    )

    found = decide(cluster(gpu_slice("n1", *devices), asked), pod("p", "c"))

    assert "1 cannot allocate all claims" in found.message
