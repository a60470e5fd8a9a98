"""The patch kinds of the Kubernetes API, on plain JSON values; inputs are never changed.

In: JSON merge patch (RFC 7386), JSON patch (RFC 6902), strategic merge patch. Out: server-side
apply, which here is a forced strategic merge by the store, since no field owners are kept.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from moorage.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["json_patch", "merge_patch", "strategic_merge"]

# The lists of the served kinds that merge by a key instead of being replaced: the API types'
# `patchMergeKey` marks. A list of `ports` goes by the first of its keys that the patch's items have.
MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "reservedFor": ("uid",),
    "resourceClaimStatuses": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
MERGED_SCALARS = frozenset({"finalizers"})
_ORDER = "$setElementOrder/"
_DELETE_SCALARS = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_DIRECTIVE = "$patch"


def merge_patch(target: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON value, by the RFC
    """Return `target` with a JSON merge patch applied: null removes, objects merge, others replace."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(target: dict[str, Any], operations: object) -> dict[str, Any]:
    """Return `target` with the six operations of RFC 6902 applied in order."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch is a list of operations")
    document = {"": copy.deepcopy(target)}  # the whole document is the member ""
    for operation in operations:
        try:
            _operate(document, operation)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise StatusError(
                "the server rejected our request due to an error in our request: cannot "
                f"apply {operation}: {error}",
                code=422,
                reason="Invalid",
            ) from error
    return document[""]


def _operate(document: dict[str, Any], operation: dict[str, Any]) -> None:
    kind, path = operation["op"], operation["path"]
    match kind:
        case "add":
            _put(document, path, copy.deepcopy(operation["value"]))
        case "remove":
            _take(document, path)
        case "replace":
            _take(document, path)
            _put(document, path, copy.deepcopy(operation["value"]))
        case "move":
            _put(document, path, _take(document, operation["from"]))
        case "copy":
            _put(document, path, copy.deepcopy(_look(document, operation["from"])))
        case "test":
            if _look(document, path) != operation["value"]:
                raise ValueError("testing value failed")
        case _:
            raise ValueError(f"unknown operation {kind!r}")


def _walk(document: dict[str, Any], pointer: str) -> tuple[Any, str]:
    """Return the container that `pointer` leads into, and its last step."""
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/"))
    container: Any = document
    for step in steps:
        container = container[int(step)] if isinstance(container, list) else container[step]
    return container, last


def _look(document: dict[str, Any], pointer: str) -> Any:  # noqa: ANN401 - any JSON value
    container, step = _walk(document, pointer)
    return container[int(step)] if isinstance(container, list) else container[step]


def _take(document: dict[str, Any], pointer: str) -> Any:  # noqa: ANN401 - any JSON value
    container, step = _walk(document, pointer)
    return container.pop(int(step)) if isinstance(container, list) else container.pop(step)


def _put(document: dict[str, Any], pointer: str, value: object) -> None:
    container, step = _walk(document, pointer)
    if isinstance(container, list):
        container.insert(len(container) if step == "-" else int(step), value)
    else:
        container[step] = value


def strategic_merge(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return `target` with a strategic merge patch applied, directives included.

    A directive or a keyed list of the wrong shape is a 400.
    """
    try:
        return _merge(target, patch)
    except (AttributeError, KeyError, TypeError) as error:
        raise bad_request(f"the strategic merge patch cannot be applied: {error}") from error


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if patch.get(_DIRECTIVE) == "replace":
        return {name: value for name, value in patch.items() if name != _DIRECTIVE}
    merged = dict(target)
    if _RETAIN in patch:
        merged = {name: value for name, value in merged.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        if name.startswith("$"):
            _direct(merged, name, value, patch)
        elif value is None or (isinstance(value, dict) and value.get(_DIRECTIVE) == "delete"):
            merged.pop(name, None)
        elif isinstance(value, dict):
            inner = merged.get(name)
            merged[name] = _merge(inner if isinstance(inner, dict) else {}, value)
        elif isinstance(value, list):
            merged[name] = _merge_list(name, merged.get(name), value, patch.get(_ORDER + name))
        else:
            merged[name] = value
    return merged


def _direct(merged: dict[str, Any], name: str, value: Any, patch: dict[str, Any]) -> None:  # noqa: ANN401
    """Apply a directive that stands beside the list it is about (any JSON value, as the patch has it)."""
    if name.startswith(_DELETE_SCALARS):
        plain = name.removeprefix(_DELETE_SCALARS)
        merged[plain] = [one for one in merged.get(plain) or () if one not in value]
    elif name.startswith(_ORDER) and name.removeprefix(_ORDER) not in patch:
        plain = name.removeprefix(_ORDER)
        if merged.get(plain):
            merged[plain] = _merge_list(plain, merged[plain], [], value)


def _merge_list(
    name: str, old: list[Any] | None, new: list[Any], order: list[Any] | None
) -> list[Any]:
    """Merge a patched list into the old one; `order` is its ``$setElementOrder``, if given."""
    if name in MERGED_SCALARS:
        return list(dict.fromkeys([*(old or ()), *new]))
    key = _merge_key(name, [*new, *(order or ()), *(old or ())])
    if key is None:
        return new
    items = {item.get(key): item for item in old or ()}
    before = list(items)
    named: list[Any] = []
    for item in new:
        if not isinstance(item, dict):
            raise bad_request(f"an element of {name} in the patch is not an object")
        if item.get(_DIRECTIVE) == "replace":
            items, before = {}, []
            continue
        if item.get(key) is None:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        if item.get(_DIRECTIVE) == "delete":
            items.pop(item[key], None)
            continue
        items[item[key]] = _merge(items.get(item[key], {}), item)
        named.append(item[key])
    wanted = [one[key] for one in order] if order is not None else named
    return [items[one] for one in _ordered(wanted, before, named) if one in items]


def _merge_key(name: str, items: Sequence[Any]) -> str | None:
    keys = MERGE_KEYS.get(name, ())
    return next(
        (key for key in keys for item in items[:1] if not isinstance(item, dict) or key in item),
        keys[0] if keys else None,
    )


def _ordered(wanted: Sequence[Any], before: Sequence[Any], named: Sequence[Any]) -> list[Any]:
    """Order the merged keys: the patch's order, each other key before what it used to precede."""
    place = {key: position for position, key in enumerate(before)}
    wanted = [*dict.fromkeys([*wanted, *named])]
    others = [key for key in before if key not in set(wanted)]
    result: list[Any] = []
    for key in wanted:
        while others and key in place and place[others[0]] < place[key]:
            result.append(others.pop(0))
        result.append(key)
    return result + others
