"""Configuration files, good and bad."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from moorage.config.load import load_configuration, parse_configuration
from moorage.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def refused(text: str) -> str:
    """Parse what must not parse, and return the sentence about it."""
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, file="c.yaml")
    return str(caught.value)


def test_a_file_is_read_and_remembered(tmp_path: Path) -> None:
    """The configuration and its profiles know the file, for errors that come later."""
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}parallelism: 4\n", encoding="utf-8")

    configuration = load_configuration(path)

    assert configuration.parallelism == 4
    assert configuration.file == configuration.profiles[0].file == str(path)


def test_json_is_read_even_if_indented_with_tabs() -> None:
    """JSON is YAML, but for tabs, which editors put there."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 20,
    }

    text = json.dumps(document, indent="\t")

    assert parse_configuration(text, file="c.json").pod_max_backoff_seconds == 20


def test_a_key_twice_in_json_is_refused_with_its_line() -> None:
    """Of two equal keys, JSON parsers keep the last in silence; we do not."""
    text = '{"kind": "KubeSchedulerConfiguration",\n "kind": "x"}'

    assert refused(text) == "c.yaml: line 2: the key 'kind' is here already"


SORTED_BY_S = "plugins: {queueSort: {enabled: [{name: S}], disabled: [{name: '*'}]}}"


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        pytest.param("{most: 1}", "{most: 1}", True, id="same"),
        pytest.param("{most: 1}", None, True, id="only-in-the-first"),
        pytest.param("{most: 1}", "{most: 2}", False, id="others"),
        pytest.param(None, "{most: 1}", False, id="only-in-the-second"),
    ],
)
def test_the_plugin_that_sorts_the_queue_has_the_same_args_in_all_profiles(
    first: str | None, second: str | None, *, taken: bool
) -> None:
    """Its keys are compared across profiles; as in kube-scheduler, a later profile may leave them out."""
    text = f"{HEAD}profiles:\n"
    for name, args in (("a", first), ("b", second)):
        config = "[]" if args is None else f"[{{name: S, args: {args}}}]"
        text += f"- {{schedulerName: {name}, {SORTED_BY_S}, pluginConfig: {config}}}\n"

    if taken:
        parse_configuration(text, file="c.yaml")
        return
    assert refused(text) == (
        "c.yaml: profiles[1].pluginConfig[0].args: S sorts the one queue of all profiles, and must "
        "have the same args as in profiles[0]"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "empty; it must hold a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1", id="empty"),
        pytest.param("apiVersion: moorage.dev/v1alpha1\nkind: MoorageConfiguration\n", "has a MoorageConfiguration alone; it must hold a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1", id="ours-alone"),
        pytest.param("# nothing\n", "empty; it must hold a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1", id="comment"),
        pytest.param("- a\n", "must hold a mapping, a KubeSchedulerConfiguration, not a list", id="list"),
        pytest.param("hello\n", "must hold a mapping, a KubeSchedulerConfiguration, not 'hello'", id="text"),
        pytest.param("kind: Pod\n", "kind: 'Pod' is not supported; write kind: KubeSchedulerConfiguration", id="kind"),
        pytest.param(f"{HEAD}---\n{HEAD}", "line 4: a second document; a configuration is a single KubeSchedulerConfiguration, beside which a MoorageConfiguration may stand", id="two"),
        pytest.param(f"{HEAD}1: 2\n", "line 3: the key '1' must be text; quote it", id="number-key"),
        pytest.param(f"{HEAD}on: 2\n", "line 3: the key 'on' must be text; quote it", id="yes-no-key"),
        pytest.param(f"{HEAD}? [a]\n: 2\n", "line 3: a key must be text; quote it", id="list-key"),
        pytest.param(f"{HEAD}profiles: !!python/tuple []\n", "line 3: not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/tuple'", id="tag"),
        pytest.param(f"{HEAD}profiles: \x07\n", "line 3: not YAML: it has the control character '\\x07'", id="control"),
        pytest.param(f"{HEAD}profiles: &a [*a]\n", "line 3: an alias refers to what it stands in itself", id="cycle"),
        pytest.param(f"{HEAD}profiles: {'[' * 5000}\n", "nested too deeply to be a configuration", id="deep"),
        pytest.param(f"{HEAD}paralelism: 1\n", "paralelism: unknown field; did you mean parallelism?", id="misspelt"),
        pytest.param(f"{HEAD}healthzBindAddress: ''\n", "healthzBindAddress: unknown field", id="of-an-older-version"),
        pytest.param(f"{HEAD}pod_max_backoff_seconds: 1\n", "pod_max_backoff_seconds: unknown field; did you mean podMaxBackoffSeconds?", id="python's-spelling"),
        pytest.param(f"{HEAD}parallelism: '4'\n", "parallelism: expected an integer, got '4'", id="text-for-number"),
        pytest.param(f"{HEAD}parallelism: true\n", "parallelism: expected an integer, got true", id="bool-for-number"),
        pytest.param(f"{HEAD}enableProfiling: 1\n", "enableProfiling: expected true or false, got 1", id="number-for-bool"),
        pytest.param(f"{HEAD}profiles: {{}}\n", "profiles: expected a list, got a mapping", id="mapping-for-list"),
        pytest.param(f"{HEAD}profiles: [null]\n", "profiles[0]: expected a mapping, got nothing", id="null-profile"),
        pytest.param(f"{HEAD}profiles: [{{schedulerName: 2024-01-01}}, {{}}]\n", "profiles[1].schedulerName: required where there are several profiles; pods choose by it", id="date-is-text"),
        pytest.param(f"{HEAD}profiles: [{{schedulerName: ''}}]\n", "profiles[0].schedulerName: must not be empty", id="empty-name"),
        pytest.param(f"{HEAD}profiles: [{{pluginConfig: [{{name: A}}, {{name: A}}]}}]\n", "profiles[0].pluginConfig[1].name: A has its args in profiles[0].pluginConfig[0] already", id="args-twice"),
        pytest.param(f"{HEAD}profiles: [{{pluginConfig: [{{name: A, args: 5}}]}}]\n", "profiles[0].pluginConfig[0].args: expected a mapping, got 5", id="args-no-mapping"),
        pytest.param(f"{HEAD}profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {{apiVersion: kubescheduler.config.k8s.io/v1beta3}}}}]}}]\n", "profiles[0].pluginConfig[0].args.apiVersion: args of NodeAffinity are of apiVersion kubescheduler.config.k8s.io/v1, got 'kubescheduler.config.k8s.io/v1beta3'", id="args-version"),
        pytest.param(f"{HEAD}profiles: [{{plugins: {{score: {{enabled: [{{}}]}}}}}}]\n", "profiles[0].plugins.score.enabled[0].name: required, but not there", id="no-plugin-name"),
        pytest.param(f"{HEAD}profiles: [{{pluginConfig: [{{name: EBSLimits}}]}}]\n", "profiles[0].pluginConfig[0].name: EBSLimits was removed from Kubernetes; NodeVolumeLimits does its work", id="args-of-a-removed-plugin"),
        pytest.param(f"{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: CinderLimits}}]}}}}}}]\n", "profiles[0].plugins.filter.enabled[0].name: CinderLimits was removed from Kubernetes; NodeVolumeLimits does its work", id="a-removed-plugin"),
        pytest.param(f"{HEAD}profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: GCEPDLimits}}]}}}}}}]\n", "profiles[0].plugins.multiPoint.enabled: GCEPDLimits was removed from Kubernetes; NodeVolumeLimits does its work", id="a-removed-plugin-everywhere"),
        pytest.param(f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b, plugins: {{queueSort: {{enabled: [{{name: PrioritySort}}]}}}}}}]\n", "profiles[1].plugins.queueSort: must be the same as in profiles[0]: there is one queue for all profiles", id="queue-sort"),
        pytest.param(f"{HEAD}leaderElection: {{leaseDuration: 15}}\n", "leaderElection.leaseDuration: 15 is not a duration; write it as text with a unit, such as 15s", id="bare-duration"),
        pytest.param(f"{HEAD}leaderElection: {{leaseDuration: 10s}}\n", "leaderElection.leaseDuration: 10s must be longer than renewDeadline, 10s", id="lease-order"),
        pytest.param(f"{HEAD}leaderElection: {{renewDeadline: 2s}}\n", "leaderElection.renewDeadline: 2s must be longer than 1.2 times retryPeriod, 2s", id="renew-order"),
        pytest.param(f"{HEAD}leaderElection: {{retryPeriod: -2s}}\n", "leaderElection.retryPeriod: must be above 0s, got -2s", id="negative-duration"),
        pytest.param(f"{HEAD}clientConnection: {{burst: -1}}\n", "clientConnection.burst: must be at least 0, got -1", id="burst"),
        pytest.param(f"{HEAD}clientConnection: {{qps: .nan}}\n", "clientConnection.qps: must be a finite number, got nan", id="nan"),
        pytest.param(f"{HEAD}extenders: [{{urlPrefix: u, bindVerb: b}}, {{urlPrefix: v, bindVerb: b}}]\n", "extenders: only one extender can bind, but 0 and 1 have a bindVerb", id="two-binders"),
        pytest.param(f"{HEAD}extenders: [{{urlPrefix: u, tlsConfig: {{caData: '%'}}}}]\n", "extenders[0].tlsConfig.caData: must be base64", id="base64"),
        pytest.param(f"{HEAD}percentageOfNodesToScore: -1\npodInitialBackoffSeconds: -1\n", "percentageOfNodesToScore: must be at least 0, got -1 (and 1 more problem)", id="several"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(text: str, sentence: str) -> None:
    """The file, where there is one the field or the line, and what to write."""
    assert refused(text) == f"c.yaml: {sentence}"


def test_null_is_not_set() -> None:
    """As in Kubernetes, a field that is null has its default."""
    configuration = parse_configuration(
        f"{HEAD}parallelism: null\nprofiles:\nleaderElection: {{leaseDuration:}}\n", file="c.yaml"
    )

    assert configuration.parallelism == 16
    assert configuration.leader_election.lease_duration == 15.0


def test_an_unknown_field_is_refused_even_if_null() -> None:
    """A misspelt field with nothing behind it is a mistake all the same."""
    assert refused(f"{HEAD}profile:\n").endswith("unknown field; did you mean profiles?")


@pytest.mark.parametrize(
    ("name", "reason"), [("absent.yaml", "No such file or directory"), (".", "Is a directory")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, reason: str) -> None:
    """The sentence has the path and the system's own reason."""
    path = tmp_path / name

    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)

    assert str(caught.value) == f"{path}: cannot be read: {reason}"


def test_a_binary_file_is_no_configuration(tmp_path: Path) -> None:
    """Bytes that are no text are refused before YAML sees them."""
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigurationError, match="not a text in UTF-8"):
        load_configuration(path)
