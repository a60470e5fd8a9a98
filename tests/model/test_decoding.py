"""Record types with the fields that plugins declare."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.errors import PluginError
from moorage.model.changes import node_changes
from moorage.model.decoding import Declaration, RecordTypes, record_types
from moorage.model.events import ActionType
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

POD = b"""{"metadata": {"name": "p", "namespace": "ns", "annotations": {"team": "a"}},
"spec": {"hostname": "h", "runtimeClassName": "gvisor", "containers": [
  {"name": "c", "command": ["run"], "resources": {"requests": {"cpu": "2"}}}]}}"""


def declared(fields: dict[str, dict[str, Any]], plugin: str = "Mine") -> RecordTypes:
    """Build the types for one plugin."""
    return record_types([Declaration(plugin, fields)])


def test_nothing_declared_gives_the_plain_types() -> None:
    """Nobody pays for what no plugin wants."""
    assert record_types([Declaration("A", {}), Declaration("B", {})]) == (Pod, Node, Namespace)


def test_declared_fields_are_decoded_at_every_depth() -> None:
    """By dots, through optional records and through lists."""
    types = declared(
        {
            "Pod": {
                "metadata.annotations": dict[str, str],
                "spec.runtimeClassName": str | None,
                "spec.containers.command": tuple[str, ...],
            }
        }
    )
    pod: Any = msgspec.json.decode(POD, type=types.pod)
    assert pod.metadata.annotations == {"team": "a"}
    assert pod.spec.runtime_class_name == "gvisor"
    assert pod.spec.containers[0].command == ("run",)


def test_wider_records_are_records_of_the_model() -> None:
    """Everything that knows the model's types goes on working."""
    types = declared({"Pod": {"metadata.annotations": dict[str, str]}})
    pod = msgspec.json.decode(POD, type=types.pod)
    assert isinstance(pod, Pod)
    assert PodInfo(pod).requests.get("cpu") == 2000
    assert types.node is Node


@pytest.mark.parametrize(
    ("wanted", "empty"),
    [
        (str, ""),
        (int, 0),
        (bool, False),
        (dict[str, str], {}),
        (tuple[str, ...], ()),
        (str | None, None),
    ],
)
def test_missing_field_has_the_empty_value_of_its_type(wanted: Any, empty: object) -> None:  # noqa: ANN401 - a type
    """JSON leaves out what is empty; so may a test that makes a record."""
    types = declared({"Pod": {"spec.thing": wanted}})
    made: Any = types.pod()
    assert made.spec.thing == empty
    decoded: Any = msgspec.json.decode(b'{"spec": {}}', type=types.pod)
    assert decoded.spec.thing == empty


@pytest.mark.parametrize(
    ("path", "spelling", "attribute"),
    [
        ("status.podIPs", b"podIPs", "pod_ips"),
        ("status.hostname", b"hostname", "hostname"),
        ("status.qos_class", b"qosClass", "qos_class"),
    ],
)
def test_paths_take_either_spelling(path: str, spelling: bytes, attribute: str) -> None:
    """A name in the API's spelling is taken literally; one in snake_case becomes camelCase."""
    types = declared({"Pod": {path: str}})
    pod = msgspec.json.decode(b'{"status": {"%s": "x"}}' % spelling, type=types.pod)
    assert getattr(pod.status, attribute) == "x"


def test_two_plugins_may_want_the_same_field() -> None:
    """Declared alike, it is decoded once."""
    fields = {"Node": {"metadata.annotations": dict[str, str]}}
    types = record_types([Declaration("A", fields), Declaration("B", fields)])
    node: Any = types.node()
    assert node.metadata.annotations == {}


def test_what_is_decoded_for_everybody_may_be_declared() -> None:
    """As the type that it has; nothing changes then."""
    assert declared({"Pod": {"metadata.labels": dict[str, str]}}) == RecordTypes()


def test_changed_annotations_of_a_node_are_an_event() -> None:
    """As soon as a plugin has them decoded."""
    types = declared({"Node": {"metadata.annotations": dict[str, str]}})
    old, new = (
        msgspec.json.decode(b'{"metadata": {"annotations": {"a": "%d"}}}' % value, type=types.node)
        for value in (1, 2)
    )
    assert node_changes(old, new) is ActionType.UPDATE_NODE_ANNOTATION
    assert not node_changes(old, old)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"Secret": {"data": str}}, ["'Secret'", "informer"], id="kind"),
        pytest.param({"Pod": {"spec.nothing.below": str}}, ["'spec.nothing.below'"], id="path"),
        pytest.param({"Pod": {"spec.no name": str}}, ["'spec.no name'"], id="no-path"),
        pytest.param({"Pod": {"spec.priority": str}}, ["'spec.priority'", "int"], id="other-type"),
        pytest.param({"Pod": {"spec.number": complex}}, ["complex"], id="undecodable"),
        pytest.param({"Pod": {"spec.both": int | str}}, ["empty value"], id="no-empty-value"),
    ],
)
def test_errors_name_plugin_and_field(fields: dict[str, dict[str, Any]], words: list[str]) -> None:
    """One sentence with what is wrong and whose declaration it is."""
    with pytest.raises(PluginError) as raised:
        declared(fields)
    assert all(word in str(raised.value) for word in ["'Mine'", *words])


def test_plugins_that_disagree_are_both_named() -> None:
    """The same field as two types can be had by neither."""
    with pytest.raises(PluginError, match="'A' and 'B'"):
        record_types(
            [
                Declaration("A", {"Pod": {"spec.hostname": str}}),
                Declaration("B", {"Pod": {"spec.hostname": str | None}}),
            ]
        )


def test_a_field_and_a_part_of_it_cannot_both_be_declared() -> None:
    """A leaf of one plugin is no branch of another."""
    with pytest.raises(PluginError, match=r"spec\.extra\.part"):
        record_types(
            [
                Declaration("A", {"Pod": {"spec.extra": dict[str, str]}}),
                Declaration("B", {"Pod": {"spec.extra.part": str}}),
            ]
        )
