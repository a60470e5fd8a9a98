"""A configuration as a document again."""

from __future__ import annotations

import json

import yaml

from moorage.config.defaults import default_configuration
from moorage.config.document import to_document
from moorage.config.load import parse_configuration

TEXT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
delayCacheUntilActive: true
leaderElection: {leaseDuration: 90s}
profiles:
- plugins: {score: {enabled: [{name: Own, weight: 2}]}}
  pluginConfig:
  - {name: Own, args: {a: 1}}
  - {name: NodeAffinity, args: {addedAffinity: null}}
  - {name: Absent, args: {}}
"""


def test_a_document_is_plain_json() -> None:
    """It goes to /configz and to files without further ado."""
    document = to_document(parse_configuration(TEXT, file="c.yaml"))

    assert json.loads(json.dumps(document)) == document
    assert document["leaderElection"]["leaseDuration"] == "1m30s"
    assert document["delayCacheUntilActive"] is True


def test_only_enabled_plugins_have_arguments_and_built_in_ones_their_type() -> None:
    """As kube-scheduler writes them, sorted by name."""
    document = to_document(parse_configuration(TEXT, file="c.yaml"))

    assert document["profiles"][0]["pluginConfig"] == [
        {
            "name": "NodeAffinity",
            "args": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "NodeAffinityArgs",
                "addedAffinity": None,
            },
        },
        {"name": "Own", "args": {"a": 1}},
    ]


def test_arguments_with_the_plugins_defaults_stand_in_for_the_written_ones() -> None:
    """Whoever has assembled the profiles knows more than the file says."""
    filled = {"default-scheduler": {"Own": {"a": 1, "b": 2}}}

    document = to_document(parse_configuration(TEXT, file="c.yaml"), plugin_args=filled)

    assert document["profiles"][0]["pluginConfig"][-1] == {"name": "Own", "args": {"a": 1, "b": 2}}


def test_the_document_of_the_defaults_can_be_read_again() -> None:
    """What is written out says the same when it is read, default plugins and all."""
    configuration = default_configuration()

    again = parse_configuration(yaml.safe_dump(to_document(configuration)), file="c.yaml")

    assert again.profiles[0].plugins == configuration.profiles[0].plugins
    assert again.leader_election == configuration.leader_election
    assert again.client_connection == configuration.client_connection
