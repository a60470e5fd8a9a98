"""What runs without a configuration, and what a configuration leaves out."""

from __future__ import annotations

import pytest

from moorage.config.defaults import DEFAULT_PLUGINS, default_configuration, with_defaults
from moorage.config.load import parse_configuration
from moorage.config.schema import KubeSchedulerConfiguration, KubeSchedulerProfile

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_without_a_file_one_profile_is_named_moorage() -> None:
    """So is the Lease: standing beside kube-scheduler is safe."""
    configuration = default_configuration()

    assert [profile.scheduler_name for profile in configuration.profiles] == ["moorage"]
    assert configuration.leader_election.resource_name == "moorage"
    assert configuration.file == ""


def test_each_scheduler_name_gets_the_default_plugins() -> None:
    """Whoever runs without a cluster serves default-scheduler too."""
    configuration = default_configuration(("moorage", "default-scheduler"))

    for profile in configuration.profiles:
        enabled = profile.plugins.multi_point.enabled
        assert tuple((plugin.name, plugin.weight) for plugin in enabled) == DEFAULT_PLUGINS
    assert [profile.field for profile in configuration.profiles] == ["profiles[0]", "profiles[1]"]


def test_a_profile_remembers_what_its_user_enabled() -> None:
    """A missing plugin is an error if the user named it, and a notice if it is a default."""
    text = f"{HEAD}profiles: [{{plugins: {{score: {{enabled: [{{name: Own}}]}}}}}}]\n"

    profile = parse_configuration(text, file="c.yaml").profiles[0]

    assert profile.configured_plugins == {"Own"}
    assert profile.plugins.enabled_names() > {"Own", "NodeName"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("enableProfiling: false\n", False),
        ("enableProfiling: false\nenableContentionProfiling: true\n", True),
        ("enableContentionProfiling: false\n", False),
    ],
)
def test_contention_profiling_follows_profiling(text: str, *, expected: bool) -> None:
    """Left out, it is as profiling itself."""
    configuration = parse_configuration(HEAD + text, file="c.yaml")

    assert configuration.enable_contention_profiling is expected


def test_zero_and_empty_are_left_out() -> None:
    """As Go cannot tell them from a field that is not there."""
    text = (
        f"{HEAD}leaderElection: {{leaseDuration: 0s, resourceName: ''}}\n"
        "clientConnection: {qps: 0, burst: 0}\n"
    )

    configuration = parse_configuration(text, file="c.yaml")

    assert configuration.leader_election.lease_duration == 15.0
    assert configuration.leader_election.resource_name == "moorage"
    assert configuration.client_connection.qps == -1
    assert configuration.client_connection.burst == 100


def test_records_made_in_code_are_completed_too() -> None:
    """A program that assembles a configuration needs no file."""
    profile = KubeSchedulerProfile(scheduler_name="mine", percentage_of_nodes_to_score=50)

    configuration = with_defaults(KubeSchedulerConfiguration(profiles=(profile,)))

    assert configuration.profiles[0].scheduler_name == "mine"
    assert configuration.profiles[0].plugins.enabled_names() == dict(DEFAULT_PLUGINS).keys()


@pytest.mark.parametrize(
    ("written", "data"),
    [
        ("{apiVersion: kubescheduler.config.k8s.io/v1, kind: OwnArgs, a: 1}", {"a": 1}),
        ("{kind: OwnArgs, a: 1}", {"a": 1}),
        ("{kind: fast, a: 1}", {"kind": "fast", "a": 1}),
        (
            "{apiVersion: example.com/v1, kind: OwnArgs}",
            {"apiVersion": "example.com/v1", "kind": "OwnArgs"},
        ),
    ],
)
def test_the_type_of_arguments_is_no_argument(written: str, data: dict[str, object]) -> None:
    """Both apiVersion and kind go where they name the arguments' type, and stay where they do not."""
    text = f"{HEAD}profiles: [{{pluginConfig: [{{name: Own, args: {written}}}]}}]\n"

    assert parse_configuration(text, file="c").profiles[0].raw_args["Own"].data == data
