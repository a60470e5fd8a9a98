"""Arguments of DynamicResources: kube-scheduler's defaults, spelling and bounds."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from tests.builtin.dynamic_resources.devices_kit import (
    claim,
    decide,
    device_class,
    framework_on,
    gpu_slice,
    pod,
)

from moorage.testing import Cluster
from moorage_builtin.dynamic_resources.arguments import DynamicResourcesArgs


def test_times_are_written_as_in_go() -> None:
    """Ten seconds for a node, ten minutes for devices, unless told."""
    default = DynamicResourcesArgs()
    given = DynamicResourcesArgs.model_validate({"filterTimeout": "3s", "bindingTimeout": "1m30s"})

    assert (default.filter_timeout, default.binding_timeout) == (10.0, 600.0)
    assert (given.filter_timeout, given.binding_timeout) == (3.0, 90.0)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"filterTimeout": "-1s"}, "must be zero or positive"),
        ({"bindingTimeout": "999ms"}, "must be at least 1 second"),
        ({"filterTimeout": "soon"}, "'soon' is not a duration"),
    ],
)
def test_values_out_of_bounds_are_refused(args: dict[str, str], problem: str) -> None:
    """With a sentence that says what they must be."""
    with pytest.raises(ValidationError, match=problem):
        DynamicResourcesArgs.model_validate(args)


@pytest.mark.parametrize(("timeout", "is_over"), [("1s", True), ("5s", False), ("0s", False)])
def test_search_that_takes_too_long_is_given_up(timeout: str, is_over: bool) -> None:  # noqa: FBT001 - a case
    """On that node; 0s means without a bound."""
    cluster = Cluster(["n1"])
    cluster.add(device_class(), gpu_slice("n1", "g0"), claim("c"))
    services = cluster.services()
    ticks = iter(range(0, 1000, 2))
    services.clock = lambda: float(next(ticks))  # each look at it takes two seconds
    framework = framework_on(services, args={"filterTimeout": timeout})

    found = decide(cluster, pod("p", "c"), framework)

    assert ("1 timed out trying to allocate devices" in found.message) is is_over
