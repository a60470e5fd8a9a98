"""A plugin's arguments as its author documented them, read from its pydantic model."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from moorage.framework.plugin import PluginArgs

__all__ = ["Argument", "arguments_of", "default_arguments"]

_REQUIRED = "required"


class Argument(NamedTuple):
    """One argument: its path as a configuration spells it, type, default and documentation.

    `default` holds JSON's types; it says nothing where the argument is `required`.
    """

    name: str
    type: str
    required: bool
    default: Any
    description: str

    def document(self) -> dict[str, Any]:
        """Return what ``-o json`` prints."""
        written = self._asdict()
        if self.required:
            del written["default"]
        return written


def arguments_of(model: type[PluginArgs]) -> list[Argument]:
    """List the arguments, those of nested models behind the one that holds them."""
    return list(_of(model, ""))


def default_arguments(model: type[PluginArgs]) -> dict[str, Any]:
    """Return the defaults as a profile would spell them; required ones say so."""
    return {
        argument.name: f"<{_REQUIRED}: {argument.type}>" if argument.required else argument.default
        for argument in _of(model, "", nested=False)
    }


def _of(
    model: type[BaseModel],
    prefix: str,
    *,
    nested: bool = True,
    within: tuple[type[BaseModel], ...] = (),
) -> Iterator[Argument]:
    """List a model's fields; a model that holds itself, `within` others or not, is listed once."""
    within = (*within, model)
    for field, info in model.model_fields.items():
        name = f"{prefix}{info.alias or field}"
        default = None if info.is_required() else _plain(model, field, info)
        required = info.is_required()
        description = info.description or ""
        yield Argument(name, _type(info.annotation), required, default, description)
        inner = _model_in(info.annotation)
        if nested and inner is not None and inner not in within:
            yield from _of(inner, f"{name}{_repeated(info.annotation)}.", within=within)


def _plain(model: type[BaseModel], field: str, info: FieldInfo) -> Any:  # noqa: ANN401 - JSON
    """Return a default in JSON's types, spelt as in a configuration."""
    value = info.get_default(call_default_factory=True, validated_data={})
    made = model.model_construct(_fields_set={field}, **{field: value})
    (plain,) = made.model_dump(mode="json", by_alias=True, include={field}, warnings=False).values()
    return plain


def _type(annotation: Any) -> str:  # noqa: ANN401 - a type expression may be any object
    """Word a type for people who write YAML."""
    origin = get_origin(annotation)
    if origin is not None:
        return _composed(origin, get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " | ".join(str(member.value) for member in annotation)
    return _NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _composed(origin: Any, inner: tuple[Any, ...]) -> str:  # noqa: ANN401 - as _type
    if origin is Annotated:
        words = _type(inner[0])
    elif origin in {Union, types.UnionType}:
        words = " or ".join(_type(one) for one in inner if one is not types.NoneType)
    elif origin in _LISTS:
        words = f"list of {_type(inner[0])}"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        words = f"mapping of {_type(inner[0])} to {_type(inner[1])}"
    else:  # Literal
        words = " | ".join(map(str, inner))
    return words


_LISTS = frozenset({list, tuple, set, frozenset, Sequence})
_NAMES = {str: "string", int: "integer", float: "number", bool: "true or false"}


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - as _type
    """Find the model in a type such as ``tuple[Shape, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model_in(one))), None)


def _repeated(annotation: Any) -> str:  # noqa: ANN401 - as _type
    """Say how often the model in a type stands there: ``[]`` in a list, ``.*`` under names."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in _LISTS:
        own = "[]"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        own = ".*"
    else:
        own = ""
    return own + next((_repeated(one) for one in inner if _model_in(one)), "")
