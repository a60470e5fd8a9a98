"""Which record types JSON is decoded into: the model's, or wider ones with fields that plugins want.

A plugin declares fields as ``{"Pod": {"metadata.annotations": dict[str, str]}}``. A path names
fields in the API's spelling or in snake_case and may lead through lists
(``spec.containers.command``). The wider types are subclasses, so that everything which knows the
model's types goes on working; nobody pays for a field that no plugin declared.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from moorage.errors import PluginError
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.model.record import Record

__all__ = ["Declaration", "RecordTypes", "record_types"]

_Tree = dict[str, "_Tree | _Leaf"]
_OPTIONS: dict[str, Any] = {
    "rename": "camel",
    "frozen": True,
    "kw_only": True,
    "omit_defaults": True,
    "gc": False,
}


class Declaration(NamedTuple):
    """The extra fields of one plugin: kind -> path -> type."""

    plugin: str
    fields: Mapping[str, Mapping[str, Any]]


class RecordTypes(NamedTuple):
    """What pods, nodes and namespaces are decoded into."""

    pod: type[Pod] = Pod
    node: type[Node] = Node
    namespace: type[Namespace] = Namespace


class _Leaf(NamedTuple):
    """One declared field: who asked for it, by which path, of which type, in which spelling."""

    plugin: str
    path: str
    type: Any
    api_name: str | None


def record_types(declarations: Iterable[Declaration]) -> RecordTypes:
    """Build the types for the union of what plugins declare; the plain ones where none does.

    Raises PluginError, naming plugin and field, for a kind or a path that is not decoded, a type
    that cannot be, and a field that is decoded as another type already.
    """
    trees: dict[str, _Tree] = {}
    for plugin, kinds in declarations:
        for kind, fields in kinds.items():
            if kind not in _PLAIN:
                raise PluginError(
                    f"plugin {plugin!r} declares extra fields of {kind!r}; only those of "
                    f"{', '.join(_PLAIN)} can be declared: ask for an informer instead"
                )
            for path, wanted in fields.items():
                _plant(trees.setdefault(kind, {}), plugin, kind, path, wanted)
    if not trees:
        return RecordTypes()
    pod, node, namespace = (
        _widened(plain, trees[kind]) if kind in trees else plain for kind, plain in _PLAIN.items()
    )
    return RecordTypes(pod, node, namespace)


_PLAIN: dict[str, type[Any]] = {"Pod": Pod, "Node": Node, "Namespace": Namespace}


def _plant(tree: _Tree, plugin: str, kind: str, path: str, wanted: Any) -> None:  # noqa: ANN401 - a type
    """Put a declared field into the tree of its kind."""
    names = path.split(".")
    if not all(name.isidentifier() for name in names):
        raise PluginError(
            f"plugin {plugin!r} declares the extra field {path!r} of {kind}, which is no path of "
            "names such as metadata.annotations"
        )
    where: type[Any] | None = _PLAIN[kind]
    for name in names[:-1]:
        attribute = _snake(name)
        where = _record_in(_field_types(where).get(attribute)) if where else None
        below = tree.setdefault(attribute, {})
        if where is None or isinstance(below, _Leaf):
            raise PluginError(
                f"plugin {plugin!r} declares the extra field {path!r} of {kind}, but {name!r} in "
                "it is nothing that is decoded; declare it as a whole"
            )
        tree = below
    attribute = _snake(names[-1])
    _check_decodable(plugin, path, wanted)
    _check_agreement(plugin, kind, path, wanted, _field_types(where).get(attribute))
    earlier = tree.get(attribute)
    if isinstance(earlier, _Leaf) and earlier.type != wanted:
        raise PluginError(
            f"plugins {earlier.plugin!r} and {plugin!r} declare {path!r} of {kind} as "
            f"{earlier.type!r} and {wanted!r}; they cannot be enabled together"
        )
    if attribute not in _field_types(where):
        tree[attribute] = _Leaf(plugin, path, wanted, names[-1] if names[-1] != attribute else None)


def _check_agreement(plugin: str, kind: str, path: str, wanted: Any, present: Any) -> None:  # noqa: ANN401 - types
    if present is not None and present != wanted:
        raise PluginError(
            f"plugin {plugin!r} declares {path!r} of {kind} as {wanted!r}, but it is decoded as "
            f"{present!r} for everybody; leave the declaration out"
        )


def _widened(plain: type[Any], tree: _Tree) -> type[Any]:
    """Derive a record type with the fields of a tree added, at every depth."""
    added = {name: node for name, node in tree.items() if node}
    if not added:
        return plain
    present = _field_types(plain)
    fields: list[tuple[str, Any, Any]] = []
    for name, node in added.items():
        if isinstance(node, _Leaf):
            fields.append((name, node.type, _default(node)))
            continue
        record = _record_in(present[name])
        assert record is not None  # noqa: S101 - the path was followed when it was planted
        inner = _widened(record, node)
        default = _defaults(plain)[name]
        fields.append(
            (
                name,
                _replaced(present[name], record, inner),
                inner() if isinstance(default, record) else default,
            )
        )
    return msgspec.defstruct(
        plain.__name__, fields, bases=(plain,), module=plain.__module__, **_OPTIONS
    )


def _default(leaf: _Leaf) -> Any:  # noqa: ANN401 - the value of a field where JSON has none
    """Return the empty value of a type; PluginError where it has none."""
    origin = get_origin(leaf.type) or leaf.type
    if leaf.type is Any or (_is_union(leaf.type) and type(None) in get_args(leaf.type)):
        return msgspec.field(default=None, name=leaf.api_name)
    try:
        origin()
    except TypeError as error:
        raise PluginError(
            f"plugin {leaf.plugin!r} declares the extra field {leaf.path!r} as {leaf.type!r}, "
            "which has no empty value; declare it as `... | None`"
        ) from error
    return msgspec.field(default_factory=origin, name=leaf.api_name)


def _check_decodable(plugin: str, path: str, wanted: Any) -> None:  # noqa: ANN401 - a type
    """Refuse what JSON cannot become; msgspec would say so only when the first object comes."""
    problem = "it is no type of JSON values"
    try:
        msgspec.json.Decoder(wanted)
        if not isinstance(msgspec.inspect.type_info(wanted), msgspec.inspect.CustomType):
            return
    except (TypeError, NameError) as error:
        problem = str(error)
    raise PluginError(
        f"plugin {plugin!r} declares the extra field {path!r} as {wanted!r}, which cannot be "
        f"decoded: {problem}"
    )


def _field_types(record: type[Any] | None) -> dict[str, Any]:
    if record is None:
        return {}
    return {field.name: field.type for field in msgspec.structs.fields(record)}


def _defaults(record: type[Any]) -> dict[str, Any]:
    return {field.name: field.default for field in msgspec.structs.fields(record)}


def _record_in(type_: Any) -> type[Any] | None:  # noqa: ANN401 - a type
    """Return the record in ``R``, ``R | None`` or ``tuple[R, ...]``; None where there is none."""
    if isinstance(type_, type) and issubclass(type_, Record):
        return type_
    return next((found for inner in get_args(type_) if (found := _record_in(inner))), None)


def _replaced(type_: Any, old: type[Any], new: type[Any]) -> Any:  # noqa: ANN401 - types
    """Return the same type with `new` in place of `old`."""
    if type_ is old:
        return new
    if _is_union(type_):
        return Union[tuple(_replaced(inner, old, new) for inner in get_args(type_))]  # noqa: UP007 - made at run time
    origin = get_origin(type_)
    if origin is None:  # a plain type, or the dots of tuple[R, ...]
        return type_
    return origin[tuple(_replaced(inner, old, new) for inner in get_args(type_))]


def _is_union(type_: Any) -> bool:  # noqa: ANN401 - a type
    return get_origin(type_) in {Union, types.UnionType}


def _snake(name: str) -> str:
    """Turn the API's spelling into Python's: ``podIP`` -> ``pod_ip``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
