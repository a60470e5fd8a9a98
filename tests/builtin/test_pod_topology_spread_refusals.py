"""What PodTopologySpread refuses to read: constraints of pods, arguments of profiles."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builtin.spreading import (
    cluster_of,
    decide,
    framework_of,
    listed,
    spread,
    web,
)

from moorage.cache import ClusterCache
from moorage.framework.assembly import ArgumentsError
from moorage.model import (
    LabelSelector,
    LabelSelectorRequirement,
    TopologySpreadConstraint,
)

# Bad input


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (
            spread(max_skew=-1),
            "spec.topologySpreadConstraints[1].maxSkew: must be greater than 0, got -1",
        ),
        (spread(""), "spec.topologySpreadConstraints[1].topologyKey: must not be empty"),
        (
            spread(min_domains=0),
            "spec.topologySpreadConstraints[1].minDomains: must be greater than 0, got 0",
        ),
        (
            msgspec.structs.replace(spread(), when_unsatisfiable="Perhaps"),
            (
                "spec.topologySpreadConstraints[1].whenUnsatisfiable: "
                "'Perhaps' is not one of DoNotSchedule, ScheduleAnyway"
            ),
        ),
        (
            spread(node_taints_policy="Obey", soft=True),
            "spec.topologySpreadConstraints[1].nodeTaintsPolicy: 'Obey' is not one of Honor, Ignore",
        ),
        (
            spread(
                selector=LabelSelector(
                    match_expressions=(LabelSelectorRequirement(key="a", operator="Like"),)
                )
            ),
            (
                "spec.topologySpreadConstraints[1].labelSelector.matchExpressions[0].operator: "
                "'Like' is not one of In, NotIn, Exists, DoesNotExist"
            ),
        ),
    ],
    ids=["skew", "key", "domains", "action", "policy", "selector"],
)
def test_a_constraint_that_makes_no_sense_is_named(
    constraint: TopologySpreadConstraint, sentence: str
) -> None:
    """The pod is unschedulable and told which field is wrong; others go on."""
    cluster = cluster_of({"n1": "a"})

    decision = decide(cluster, web(spread(), constraint))

    assert decision.message == f"0/1 nodes are available: {sentence}."
    assert decide(cluster, web(spread())).node_name == "n1"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"a": "b"}},
                    }
                ],
            },
            "must not be set",
        ),
        (
            {
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            },
            "must be List",
        ),
        ({"defaultingType": "Both"}, "'System' or 'List'"),
        (listed(maxSkew=0), "greater than 0"),
        (listed(topologyKey="not a key"), "no label key"),
        (listed(whenUnsatisfiable="Perhaps"), "'DoNotSchedule' or 'ScheduleAnyway'"),
        (listed(skew=1), "not permitted"),
    ],
    ids=["selector", "system", "type", "skew", "key", "action", "unknown"],
)
def test_arguments_are_refused_as_kube_scheduler_refuses_them(
    args: dict[str, Any], sentence: str
) -> None:
    """A wrong argument ends the start, and is named."""
    with pytest.raises(ArgumentsError, match=sentence):
        framework_of(ClusterCache(), args)


def test_a_default_constraint_stands_once() -> None:
    """The same key and action twice is a mistake."""
    args = listed()
    args["defaultConstraints"] *= 2

    with pytest.raises(ArgumentsError, match="constraint 1 repeats topologyKey 'zone'"):
        framework_of(ClusterCache(), args)
