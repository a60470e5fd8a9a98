"""What a real kube-scheduler 1.36 made of 58 configurations, and what we make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_snake

from moorage.config.document import to_document
from moorage.config.load import parse_configuration
from moorage.config.merging import EnabledPlugin, extension_points
from moorage.errors import ConfigurationError

RECORDED = Path(__file__).parent.parent / "data/configurations/kube-scheduler-1.36.json"
CASES: dict[str, dict[str, Any]] = {
    case["name"]: case for case in json.loads(RECORDED.read_text(encoding="utf-8"))
}

REFUSED_HERE = {
    "bad-yaml": "config.yaml: line 4: not YAML: expected the node content, but found 'the end of the file'",
    "wrong-version": "config.yaml: apiVersion: 'kubescheduler.config.k8s.io/v9' is not supported; write apiVersion: kubescheduler.config.k8s.io/v1",
    "no-kind": "config.yaml: kind: is missing; write kind: KubeSchedulerConfiguration",
    "v1beta3": "config.yaml: apiVersion: 'kubescheduler.config.k8s.io/v1beta3' is not supported; write apiVersion: kubescheduler.config.k8s.io/v1",
    "unknown-field-deep": "config.yaml: profiles[0].plugins.score.enable: unknown field; did you mean enabled?",
    "duplicate-key": "config.yaml: line 4: the key 'parallelism' is here already",
    "plugin-twice-at-point": "config.yaml: profiles[0].plugins.score.enabled: ImageLocality stands here 2 times; keep one of them",
    "plugin-twice-multipoint": "config.yaml: profiles[0].plugins.multiPoint.enabled: DefaultBinder stands here 2 times; keep one of them",
    "args-wrong-kind": "config.yaml: profiles[0].pluginConfig[0].args.kind: args of InterPodAffinity are of kind InterPodAffinityArgs, got 'NodeAffinityArgs'",
    "no-bind": "config.yaml: profiles[0].plugins.bind: no plugin is left to bind pods; enable one, such as DefaultBinder",
    "no-bind-multipoint": "config.yaml: profiles[0].plugins.bind: no plugin is left to bind pods; enable one, such as DefaultBinder",
    "duplicate-scheduler-name": "config.yaml: profiles[1].schedulerName: 'a' is the name in profiles[0].schedulerName already",
    "empty-scheduler-name-in-second": "config.yaml: profiles[1].schedulerName: required where there are several profiles; pods choose by it",
    "parallelism-negative": "config.yaml: parallelism: must be greater than 0, got -1",
    "percentage-range": "config.yaml: percentageOfNodesToScore: must be at most 100, got 101",
    "backoff-zero": "config.yaml: podInitialBackoffSeconds: must be greater than 0, got 0",
    "backoff-order": "config.yaml: podMaxBackoffSeconds: must be at least podInitialBackoffSeconds, 10, got 5",
    "lease-lock": "config.yaml: leaderElection.resourceLock: must be 'leases', the only lock there is, got 'endpoints'",
    "duration-bad": "config.yaml: leaderElection.leaseDuration: '15 seconds' is not a duration; write it as 15s, 1m30s or 250ms",
    "weight-too-big": "config.yaml: profiles[0].plugins.score.enabled[0].weight: must be at most 2147483647, got 2147483648",
    "extender-no-weight": "config.yaml: extenders[0].weight: must be above 0 for an extender with a prioritizeVerb, got 0",
    "extender-resource-name": "config.yaml: extenders[0].managedResources[0].name: 'cpu' is no extended resource, such as example.com/gpu",
    "extender-resource-twice": "config.yaml: extenders[1].managedResources[0].name: 'example.com/a' is managed in extenders[0].managedResources[0].name already",
}
"""Our sentence for each configuration that this package refuses."""

REFUSED_BY_PLUGINS = {
    "args-wrong-type": ("InterPodAffinity", {"hardPodAffinityWeight": "high"}),
    "args-hard-weight-range": ("InterPodAffinity", {"hardPodAffinityWeight": 101}),
    "args-preemption-range": (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
    ),
    "args-fit-weight": (
        "NodeResourcesFit",
        {
            "scoringStrategy": {
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 101}],
            }
        },
    ),
    "args-fit-group-slash": ("NodeResourcesFit", {"ignoredResourceGroups": ["example.com/foo"]}),
    "args-rtcr-no-shape": (
        "NodeResourcesFit",
        {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
    ),
    "args-rtcr-score-range": (
        "NodeResourcesFit",
        {
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 11}]},
            }
        },
    ),
    "args-spread-selector": (
        "PodTopologySpread",
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
    ),
    "args-spread-system-with-list": (
        "PodTopologySpread",
        {
            "defaultingType": "System",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
            ],
        },
    ),
    "args-volume-negative": ("VolumeBinding", {"bindTimeoutSeconds": -1}),
    "args-node-affinity-bad": (
        "NodeAffinity",
        {
            "addedAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Maybe", "values": ["b"]}]}
                    ]
                }
            }
        },
    ),
}
"""Refused by a plugin's own `Args`: the arguments that must reach it as they were written."""

ACCEPTED = [name for name, case in CASES.items() if "error" not in case]


def plugins_by_point(recorded: dict[str, Any]) -> dict[str, tuple[EnabledPlugin, ...]]:
    """Read the plugins of one recorded profile, in our spelling of the extension points."""
    return {
        to_snake(point): tuple(
            EnabledPlugin(plugin["Name"], plugin["Weight"])
            for plugin in plugin_set["Enabled"] or ()
        )
        for point, plugin_set in recorded.items()
        if point != "MultiPoint"
    }


def implemented_points() -> dict[str, frozenset[str]]:
    """Tell what each default plugin implements: where the recorded default profile runs it."""
    points: dict[str, set[str]] = {}
    for point, plugins in plugins_by_point(CASES["minimal"]["effective"][0]).items():
        for plugin in plugins:
            points.setdefault(plugin.name, set()).add(point)
    return {name: frozenset(implemented) for name, implemented in points.items()}


IMPLEMENTED = implemented_points()


def expand(text: str) -> list[dict[str, tuple[EnabledPlugin, ...]]]:
    """Ask for the extension points of every profile, as whoever assembles profiles does."""
    return [
        extension_points(
            profile.plugins,
            IMPLEMENTED.__getitem__,
            file=profile.file,
            field=f"{profile.field}.plugins",
        )
        for profile in parse_configuration(text, file="config.yaml").profiles
    ]


def test_every_recording_is_accounted_for() -> None:
    """A recorded configuration is accepted, refused here, or refused by a plugin."""
    assert len(CASES) == 58
    assert sorted(CASES) == sorted([*ACCEPTED, *REFUSED_HERE, *REFUSED_BY_PLUGINS])


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_same_plugins_run_in_the_same_order_with_the_same_weights(name: str) -> None:
    """Extension points equal those that kube-scheduler arrived at, profile by profile."""
    case = CASES[name]

    assert expand(case["input"]) == [plugins_by_point(each) for each in case["effective"]]


@pytest.mark.parametrize("name", ACCEPTED)
def test_defaults_are_filled_in_as_kube_scheduler_writes_them(name: str) -> None:
    """The written configuration is equal, but for what Moorage sets otherwise on purpose."""
    case = CASES[name]

    ours = to_document(parse_configuration(case["input"], file="config.yaml"))

    # The recordings leave out leaderElection and kubeconfig, which were the recorder's own.
    assert ours.pop("leaderElection")["resourceName"] == "moorage"
    assert ours.pop("clientConnection") == {
        "kubeconfig": "",
        "acceptContentTypes": "",
        "contentType": "application/json",
        "qps": -1,
        "burst": 100,
    }
    assert without_arguments(ours) == without_arguments(case["written"])


def without_arguments(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out plugin arguments, whose defaults are the plugins' to fill in."""
    profiles = [
        {key: value for key, value in profile.items() if key != "pluginConfig"}
        for profile in document["profiles"]
    ]
    kept = {key: value for key, value in document.items() if key != "clientConnection"}
    return kept | {"profiles": profiles}


@pytest.mark.parametrize("name", ACCEPTED)
def test_written_arguments_are_those_that_kube_scheduler_kept(name: str) -> None:
    """Plugin arguments keep their plugin and type, and every value that the user wrote."""
    case = CASES[name]

    ours = to_document(parse_configuration(case["input"], file="config.yaml"))

    for our_profile, their_profile in zip(
        ours["profiles"], case["written"]["profiles"], strict=True
    ):
        theirs = {entry["name"]: entry["args"] for entry in their_profile["pluginConfig"]}
        for entry in our_profile["pluginConfig"]:
            assert contains(theirs[entry["name"]], entry["args"])


def contains(whole: object, part: object) -> bool:
    """Tell whether `whole` has everything in `part`, and at most defaults beside it."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    return whole == part


@pytest.mark.parametrize("name", REFUSED_HERE)
def test_what_kube_scheduler_refuses_is_refused_in_one_sentence(name: str) -> None:
    """An error names the file and the field and says what to write instead."""
    with pytest.raises(ConfigurationError) as refused:
        expand(CASES[name]["input"])

    assert str(refused.value) == REFUSED_HERE[name]


@pytest.mark.parametrize("name", REFUSED_BY_PLUGINS)
def test_arguments_reach_their_plugin_as_written(name: str) -> None:
    """Wrong arguments are the plugin's to refuse, so they come through untouched."""
    plugin, args = REFUSED_BY_PLUGINS[name]

    configuration = parse_configuration(CASES[name]["input"], file="config.yaml")

    raw = configuration.profiles[0].raw_args[plugin]
    assert raw.data == args
    assert raw.field == "profiles[0].pluginConfig[0].args"
    assert raw.file == "config.yaml"
