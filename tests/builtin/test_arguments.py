"""Arguments that the node-level plugins refuse, and how they say so."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builtin.asking_plugins import assemble, plugin

from moorage.framework.assembly import ArgumentsError
from moorage.testing import Cluster, SinglePlugin, make_node, make_pod


@pytest.mark.parametrize(
    ("name", "args", "sentence"),
    [
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            "args.ignoredResourceGroups: Value error, resource group name 'a/b' can't contain '/'",
            id="group-with-slash",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResources": ["example.com/one two"]},
            "args.ignoredResources: Value error, 'example.com/one two' cannot be the name of a",
            id="name-of-no-resource",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Random"}},
            "args.scoringStrategy.type: Input should be 'LeastAllocated', 'MostAllocated' or",
            id="unknown-strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 1}]}},
            "args.scoringStrategy.type: Field required",
            id="no-strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 101}],
                }
            },
            "args.scoringStrategy.resources.0.weight: Input should be less than or equal to 100",
            id="weight",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "args.scoringStrategy: Value error, requestedToCapacityRatio must be given",
            id="no-shape",
        ),
        pytest.param(
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 50, "score": 1}]},
                }
            },
            "args.scoringStrategy: Value error, requestedToCapacityRatio must not be given when "
            "type is LeastAllocated",
            id="shape-without-effect",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "memory"}, {"name": "cpu"}]},
            "args.resources: Value error, cpu is listed more than once",
            id="resource-twice",
        ),
        pytest.param(
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [
                            {"utilization": 50, "score": 1},
                            {"utilization": 50, "score": 2},
                        ]
                    },
                }
            },
            "args.scoringStrategy.requestedToCapacityRatio.shape: Value error, utilization values"
            " must be rising",
            id="shape-that-does-not-rise",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": {"matchExpression": []}}
                    ]
                }
            },
            "args.addedAffinity: Value error, unknown field "
            "preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpression",
            id="misspelt-field-of-an-affinity",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            "args.resources: Value error, resource weight of cpu must be 1, got 2",
            id="balance-has-no-weights",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                }
            },
            "args: Value error, addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms: at least one term is needed",
            id="no-terms",
        ),
        pytest.param(
            "NodePorts",
            {"ports": []},
            "args.ports: Extra inputs are not permitted",
            id="takes-none",
        ),
    ],
)
def test_refused_arguments(name: str, args: dict[str, Any], sentence: str) -> None:
    """By plugin and field."""
    with pytest.raises(ArgumentsError) as caught:
        assemble(name, args)
    assert f": {sentence}" in str(caught.value)
    assert str(caught.value).startswith(f"plugin {name!r} of moorage ")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("NodeResourcesFit", {"scoringStrategy": None, "ignoredResources": None}),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "LeastAllocated", "resources": None}}),
        ("NodeResourcesBalancedAllocation", {"resources": None}),
        ("NodeAffinity", {"addedAffinity": None}),
    ],
)
def test_null_is_the_default(name: str, args: dict[str, Any]) -> None:
    """As wherever else in a configuration."""
    assert plugin(name, args).args == plugin(name).args


def test_null_in_an_added_affinity_is_not_set() -> None:
    """An affinity whose rules are all null is an empty one."""
    rules = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringScheduling")
    nothing = {rules[0]: None, f"{rules[1]}IgnoredDuringExecution": None}

    added = plugin("NodeAffinity", {"addedAffinity": nothing}).args.added_affinity

    assert added == plugin("NodeAffinity", {"addedAffinity": {}}).args.added_affinity


def test_a_weight_of_zero_is_one() -> None:
    """As in kube-scheduler, where 0 means that nothing was written."""
    resources = [{"name": "cpu", "weight": 0}]
    args = {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}

    strategy = plugin("NodeResourcesFit", args).args.scoring_strategy

    assert [(spec.name, spec.weight) for spec in strategy.resources] == [("cpu", 1)]


def test_no_resources_are_the_usual_ones() -> None:
    """An empty list is one that was not written."""
    for name, args in (
        ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": []}}),
        ("NodeResourcesBalancedAllocation", {"resources": []}),
    ):
        made = plugin(name, args).args
        resources = made.scoring_strategy.resources if "scoring" in str(args) else made.resources
        assert [spec.name for spec in resources] == ["cpu", "memory"]


def test_a_resource_that_is_listed_twice_counts_twice() -> None:
    """As if it had both weights at once, also for pods that request nothing."""
    cluster = Cluster([make_node("n1"), make_node("n2", cpu="8")], pods=[make_pod("a", node="n1")])

    def scores(*resources: tuple[str, int]) -> dict[str, float]:
        listed = [{"name": name, "weight": weight} for name, weight in resources]
        strategy = {"type": "LeastAllocated", "resources": listed}
        fit = SinglePlugin("NodeResourcesFit", cluster, args={"scoringStrategy": strategy})
        return fit.raw_scores(make_pod("p", cpu="1"))

    assert scores(("cpu", 1), ("memory", 1), ("cpu", 2)) == scores(("cpu", 3), ("memory", 1))
