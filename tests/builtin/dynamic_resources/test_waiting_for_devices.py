"""What a pod waits for, what it is told meanwhile, and which event brings it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.builtin.dynamic_resources.devices_kit import (
    DRIVER,
    claim,
    cluster,
    decide,
    device,
    device_class,
    gpu_slice,
    pod,
    request,
)
from tests.builtin.dynamic_resources.loop import Loop

from moorage.binding.reservation import Reservation
from moorage.framework.verdict import Verdict
from moorage.model import Pod
from moorage.testing import make_node

TAKEN = {
    "allocation": {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "g0"}]}
    }
}


def complete(loop: Loop) -> None:
    """Tell of a class, a device and a claim."""
    loop.tell(device_class())
    loop.tell(gpu_slice("n1", "g0"))
    loop.tell(claim("c"))


BROKEN_VERSION = device("g0", attributes={"version": {"version": "two"}})


@pytest.mark.parametrize(
    ("broken", "named", "mended"),
    [
        pytest.param(
            lambda loop: loop.tell_gone(device_class()),
            "request r: device class gpu does not exist",
            lambda loop: loop.tell(device_class()),
            id="no class",
        ),
        pytest.param(
            lambda loop: loop.tell(device_class(expression="device.drvr == 'x'")),
            "class gpu: selector #0 does not compile: 1:7: undeclared reference to 'device.drvr'",
            lambda loop: loop.tell(device_class()),
            id="a class that does not compile",
        ),
        pytest.param(
            lambda loop: loop.tell(device_class(expression=f"device.attributes['{DRIVER}'].no")),
            "class gpu: selector #0 cannot be evaluated: Key not found in map",
            lambda loop: loop.tell(device_class()),
            id="a class that asks for what is missing",
        ),
        pytest.param(
            lambda loop: loop.tell(gpu_slice("n1", BROKEN_VERSION)),
            f"device {DRIVER}/n1/g0: its attribute version cannot be read: 'two' is not a semantic",
            lambda loop: loop.tell(gpu_slice("n1", "g0")),
            id="a broken attribute",
        ),
        pytest.param(
            lambda loop: loop.tell(gpu_slice("n1", device("g0", capacity={"memory": "much"}))),
            f"device {DRIVER}/n1/g0: its capacity memory cannot be read: 'much' is not a quantity",
            lambda loop: loop.tell(gpu_slice("n1", "g0")),
            id="a broken capacity",
        ),
        pytest.param(
            lambda loop: loop.tell(gpu_slice("n1", "g0", "g0")),
            "1 invalid resource pools were encountered",
            lambda loop: loop.tell(gpu_slice("n1", "g0")),
            id="an invalid pool",
        ),
        pytest.param(
            lambda loop: loop.tell(gpu_slice("n1")),
            "1 cannot allocate all claims",
            lambda loop: loop.tell(gpu_slice("n1", "g0")),
            id="no device",
        ),
        pytest.param(
            lambda loop: loop.tell(claim("other", status=TAKEN)),
            "1 cannot allocate all claims",
            lambda loop: loop.tell(claim("other")),
            id="a device in use",
        ),
    ],
)
def test_message_names_what_is_wrong_and_the_pod_comes_back_when_it_is_mended(
    broken: Callable[[Loop], None], named: str, mended: Callable[[Loop], None]
) -> None:
    """It is not tried in between: time alone mends nothing."""
    loop = Loop("n1")
    complete(loop)
    broken(loop)
    loop.tell(pod("p", "c"))

    assert named in loop.run()["p"]
    assert loop.run(100.0) == {}
    mended(loop)
    assert loop.run() == {"p": "n1"}


def test_claim_that_cannot_be_met_is_replaced() -> None:
    """A claim's spec never changes; one of the same name made anew is another claim."""
    loop = Loop("n1")
    complete(loop)
    loop.tell(claim("c", request(where="1 +")))
    loop.tell(pod("p", "c"))
    assert "claim default/c, request r: selector #0 does not compile" in loop.run()["p"]

    loop.tell_gone(claim("c"))
    anew = claim("c")
    metadata = msgspec.structs.replace(anew.metadata, uid="anew")
    loop.tell(msgspec.structs.replace(anew, metadata=metadata))

    assert loop.run() == {"p": "n1"}


def of_template(name: str, *made: str) -> Pod:
    """Make a pod with a claim from a template, of which some have been made."""
    statuses = [{"name": "g", "resourceClaimName": one} for one in made]
    return pod(
        name,
        status={"resourceClaimStatuses": statuses},
        resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}],
    )


def test_pod_waits_until_its_claim_is_made() -> None:
    """Before that it costs no attempt; the claim has to be the pod's own."""
    loop = Loop("n1")
    loop.tell(device_class())
    loop.tell(gpu_slice("n1", "g0"))
    loop.tell(of_template("p"))
    assert loop.run() == {}

    loop.tell(claim("c"))
    loop.tell(of_template("p", "c"))
    assert loop.run() == {}  # somebody else's

    own = msgspec.convert(
        {"metadata": {"ownerReferences": [{"uid": "p", "controller": True}]}}, Pod
    )
    made = claim("p-g-1")
    metadata = msgspec.structs.replace(
        made.metadata, owner_references=own.metadata.owner_references
    )
    loop.tell(msgspec.structs.replace(made, metadata=metadata))
    loop.tell(of_template("p", "p-g-1"))
    assert loop.run() == {"p": "n1"}


def test_claim_that_a_pod_names_twice_is_one_claim() -> None:
    """It is allocated once."""
    loop = Loop("n1")
    complete(loop)
    names = [{"name": one, "resourceClaimName": "c"} for one in ("a", "b")]
    loop.tell(pod("p", resourceClaims=names))

    assert loop.run() == {"p": "n1"}


def test_other_claims_wake_nobody() -> None:
    """As recorded: one that comes frees no device."""
    loop = Loop("n1")
    loop.tell(device_class())
    loop.tell(claim("c"))
    loop.tell(pod("p", "c"))
    loop.run()

    loop.tell(claim("another"))

    assert loop.run() == {}


@pytest.mark.parametrize(
    ("change", "is_tried"),
    [
        pytest.param({"labels": {"zone": "a"}}, True, id="labels"),
        pytest.param({"allocatable": {"cpu": "9"}}, True, id="what it has room for"),
        pytest.param({"unschedulable": True}, False, id="anything else"),
    ],
)
def test_changes_of_nodes_that_may_bring_devices_wake_pods(
    change: dict[str, Any],
    is_tried: bool,  # noqa: FBT001 - a case
) -> None:
    """Slices are for nodes by their labels, and resources of nodes may stand for devices."""
    loop = Loop("n1")
    loop.tell(device_class())
    loop.tell(claim("c"))
    loop.tell(pod("p", "c"))
    loop.run()

    loop.tell(make_node("n1", **change))

    assert bool(loop.run()) is is_tried


def test_claim_that_went_after_its_pod_was_queued_is_told_of() -> None:
    """With its namespace."""
    found = decide(cluster(gpu_slice("n1", "g0")), pod("p", "c"))

    assert found.message == (
        '0/1 nodes are available: could not find ResourceClaim "default/c". '
        "no new claims to deallocate"
    )


def test_devices_of_a_pod_that_failed_wake_who_waits_for_them() -> None:
    """The API server tells nothing of devices that were only set aside."""
    loop = Loop("n1")
    complete(loop)
    loop.tell(claim("c2"))
    loop.tell(pod("p", "c"))
    loop.tell(pod("p2", "c2"))
    first = loop.attempt()
    assert isinstance(first, Reservation)
    assert "cannot allocate all claims" in loop.run(20.0)["p2"]

    loop.session.permitted(first)
    loop.session.undo(first, Verdict.error("the network is gone"))

    assert loop.run(3.0)["p2"] == "n1"


def test_claim_that_is_being_allocated_is_waited_for() -> None:
    """Two pods that share a claim: the first has it allocated, for whichever node it goes to."""
    loop = Loop("n1")
    complete(loop)
    for name in ("p1", "p2"):
        loop.tell(pod(name, "c"))
    assert isinstance(loop.attempt(), Reservation)

    message = loop.run()["p2"]

    assert "resource claim default/c is in the process of being allocated" in message
    loop.tell(claim("c", status=TAKEN))
    assert loop.run()["p2"] == "n1"
