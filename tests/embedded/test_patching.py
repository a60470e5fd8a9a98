"""The three kinds of patches."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.embedded.patching import json_patch, merge_patch, strategic_merge
from moorage.errors import ApiError


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"a": None}, {"c": {"d": 2, "e": [3]}}, id="null removes"),
        pytest.param({"c": {"d": None}}, {"a": 1, "c": {"e": [3]}}, id="null removes within"),
        pytest.param({"c": {"e": [4]}}, {"a": 1, "c": {"d": 2, "e": [4]}}, id="a list is replaced"),
        pytest.param(
            {"a": {"b": None}}, {"a": {}, "c": {"d": 2, "e": [3]}}, id="a value by an object"
        ),
    ],
)
def test_a_merge_patch_merges_objects_alone(
    patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    """RFC 7386."""
    target = {"a": 1, "c": {"d": 2, "e": [3]}}
    assert merge_patch(target, patch) == expected
    assert target == {"a": 1, "c": {"d": 2, "e": [3]}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(
            {"op": "add", "path": "/l/-", "value": 3}, {"l": [1, 2, 3], "a/b": 0}, id="append"
        ),
        pytest.param(
            {"op": "add", "path": "/l/0", "value": 0}, {"l": [0, 1, 2], "a/b": 0}, id="insert"
        ),
        pytest.param({"op": "remove", "path": "/l/0"}, {"l": [2], "a/b": 0}, id="remove"),
        pytest.param(
            {"op": "replace", "path": "/a~1b", "value": 1}, {"l": [1, 2], "a/b": 1}, id="escaped"
        ),
        pytest.param(
            {"op": "move", "from": "/l", "path": "/m"}, {"m": [1, 2], "a/b": 0}, id="move"
        ),
        pytest.param(
            {"op": "copy", "from": "/l/1", "path": "/c"}, {"l": [1, 2], "a/b": 0, "c": 2}, id="copy"
        ),
        pytest.param(
            {"op": "test", "path": "/l/1", "value": 2}, {"l": [1, 2], "a/b": 0}, id="test"
        ),
    ],
)
def test_each_operation_of_a_json_patch(
    operation: dict[str, Any], expected: dict[str, Any]
) -> None:
    """RFC 6902."""
    target = {"l": [1, 2], "a/b": 0}
    assert json_patch(target, [operation]) == expected
    assert target == {"l": [1, 2], "a/b": 0}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "remove", "path": "/nope"}, id="nothing there"),
        pytest.param({"op": "test", "path": "/a", "value": 2}, id="test fails"),
        pytest.param({"op": "rename", "path": "/a"}, id="unknown operation"),
        pytest.param({"path": "/a"}, id="no operation"),
        pytest.param("add", id="no object"),
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused(operation: object) -> None:
    """The whole patch is refused with a 422."""
    with pytest.raises(ApiError) as refusal:
        json_patch({"a": 1}, [operation])
    assert refusal.value.code == 422


def test_conditions_merge_by_type_and_new_ones_come_first() -> None:
    """As recorded: a condition that the patch brings stands before those it says nothing about."""
    target = {"conditions": [{"type": "A", "status": "True", "reason": "kept"}]}
    patch = {"conditions": [{"type": "B", "status": "False"}, {"type": "A", "status": "False"}]}
    assert strategic_merge(target, patch) == {
        "conditions": [
            {"type": "B", "status": "False"},
            {"type": "A", "status": "False", "reason": "kept"},
        ]
    }


def test_the_order_of_elements_can_be_set() -> None:
    """``$setElementOrder``, as kube-scheduler sends it with a second condition."""
    target = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    patch = {
        "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}],
        "conditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    merged = strategic_merge(target, patch)
    assert [one["type"] for one in merged["conditions"]] == ["PodScheduled", "DisruptionTarget"]


def test_an_element_is_deleted_by_its_key() -> None:
    """``$patch: delete`` within a list that merges."""
    target = {"containers": [{"name": "a"}, {"name": "b"}]}
    patch = {"containers": [{"$patch": "delete", "name": "a"}]}
    assert strategic_merge(target, patch) == {"containers": [{"name": "b"}]}


def test_a_list_can_be_replaced_whole() -> None:
    """``$patch: replace`` drops the elements that were there."""
    target = {"containers": [{"name": "a"}, {"name": "b"}]}
    patch = {"containers": [{"$patch": "replace"}, {"name": "c"}]}
    assert strategic_merge(target, patch) == {"containers": [{"name": "c"}]}


def test_keys_that_are_not_retained_go() -> None:
    """``$retainKeys``, by which the kind of a volume changes."""
    target = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {}}]}
    assert strategic_merge(target, patch) == {"volumes": [{"name": "v", "hostPath": {}}]}


def test_lists_without_a_merge_key_are_replaced() -> None:
    """Tolerations and taints, for two."""
    assert strategic_merge({"taints": [{"key": "a"}]}, {"taints": []}) == {"taints": []}


def test_finalizers_join() -> None:
    """A list of scalars that merges; its elements are deleted by a directive of their own."""
    merged = strategic_merge({"finalizers": ["a"]}, {"finalizers": ["b"]})
    assert merged == {"finalizers": ["a", "b"]}
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert strategic_merge(merged, patch) == {"finalizers": ["b"]}


def test_an_element_without_its_key_is_refused() -> None:
    """The message names the key."""
    with pytest.raises(ApiError, match="declared merge key: type"):
        strategic_merge({"conditions": []}, {"conditions": [{"status": "True"}]})
