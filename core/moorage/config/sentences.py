"""What is wrong, in one sentence that names the file and the field; no word of pydantic's.

`validation_sentence` serves every pydantic model there is: the configuration's own and the `Args`
of anybody's plugin.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from moorage.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["Problem", "closest", "field_path", "refusal", "shown", "validation_sentence"]

_KINDS: Final = {
    "bool": "true or false",
    "bytes": "a string",
    "dataclass": "a mapping",
    "dict": "a mapping",
    "float": "a number",
    "frozen_set": "a list",
    "int": "an integer",
    "list": "a list",
    "mapping": "a mapping",
    "model": "a mapping",
    "model_attributes": "a mapping",
    "none": "nothing",
    "set": "a list",
    "string": "a string",
    "tuple": "a list",
}
_SENTENCES: Final = {
    "enum": "must be {expected}, got {got}",
    "greater_than": "must be greater than {gt}, got {got}",
    "greater_than_equal": "must be at least {ge}, got {got}",
    "less_than": "must be less than {lt}, got {got}",
    "less_than_equal": "must be at most {le}, got {got}",
    "literal_error": "must be {expected}, got {got}",
    "missing": "required, but not there",
    "multiple_of": "must be a multiple of {multiple_of}, got {got}",
    "string_pattern_mismatch": "must match the pattern {pattern}, got {got}",
    "too_long": "takes at most {max_length} items, got {actual_length}",
    "too_short": "needs at least {min_length} items, got {actual_length}",
}
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_SHOWN: Final = 60  # characters
_FEW_FIELDS: Final = 12  # a list of fields longer than this helps nobody


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: the field (``profiles[0].schedulerName``) and why."""

    field: str
    sentence: str


def refusal(problems: Sequence[Problem], *, file: str) -> ConfigurationError:
    """Make the error for a document: its first problem, and how many more there are."""
    return ConfigurationError(_one_sentence(problems, file=file))


def validation_sentence(
    error: ValidationError, *, file: str, field: str = "", model: type[BaseModel] | None = None
) -> str:
    """One sentence for whatever pydantic found: ``file: field: what is wrong``.

    `field` is where in the file the validated part stands (``profiles[0].pluginConfig[2].args``;
    empty for the whole document). With `model`, the class that was validated, an unknown field is
    answered with the field that was probably meant, and a field of a union type with all that it
    may be. Of several problems the first is told and the others counted.
    """
    by_field: dict[str, list[tuple[ErrorDetails, type[BaseModel] | None]]] = {}
    for details in error.errors(include_url=False):
        loc, parent = _resolve(model, details["loc"])
        by_field.setdefault(field_path(loc, under=field), []).append((details, parent))
    return _one_sentence(
        [Problem(path, _words(found)) for path, found in by_field.items()], file=file
    )


def field_path(loc: Iterable[str | int], *, under: str = "") -> str:
    """Write a place in a document as one reads it: ``profiles[0].plugins["odd.key"]``."""
    path = under
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f'["{part}"]'
    return path


def closest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that was probably meant, whatever its case or separators, or None."""
    by_folded = {_folded(candidate): candidate for candidate in known}
    matches = difflib.get_close_matches(_folded(word), by_folded, n=1, cutoff=0.7)
    return by_folded[matches[0]] if matches else None


def _folded(word: str) -> str:
    return word.casefold().replace("_", "").replace("-", "")


def _one_sentence(problems: Sequence[Problem], *, file: str) -> str:
    first, others = problems[0], len(problems) - 1
    sentence = ": ".join(part for part in (file, first.field, first.sentence) if part)
    if others:
        sentence += f" (and {others} more problem{'s' if others > 1 else ''})"
    return sentence


def _words(found: Sequence[tuple[ErrorDetails, type[BaseModel] | None]]) -> str:
    """Say what is wrong with a field; several errors are the members of a union, all refusing."""
    details, parent = found[0]
    kinds = dict.fromkeys(_kind(each) for each, _ in found)
    if None not in kinds:
        return f"expected {' or '.join(map(str, kinds))}, got {shown(details['input'])}"
    return _other_words(details, parent)


def _kind(details: ErrorDetails) -> str | None:
    """Say what was expected instead, where the error is about the type of the value."""
    stem = re.sub(r"_(type|parsing|from_float|parsing_size)$", "", details["type"])
    return _KINDS.get(stem) if stem != details["type"] else None


def _other_words(details: ErrorDetails, parent: type[BaseModel] | None) -> str:
    context: Mapping[str, Any] = details.get("ctx", {})
    kind, got = details["type"], shown(details["input"])
    if kind == "extra_forbidden":
        words = _unknown_field(str(details["loc"][-1]), parent)
    elif kind in {"value_error", "assertion_error"} and "error" in context:
        words = str(context["error"])
    elif kind == "string_too_short" and context["min_length"] == 1:
        words = "must not be empty"
    elif kind in _SENTENCES:
        words = _SENTENCES[kind].format(**context, got=got)
    else:
        message = details["msg"].replace("Input should", "must").replace("should", "must")
        words = f"{message[:1].lower()}{message[1:]}, got {got}"
    return words


def _unknown_field(name: str, parent: type[BaseModel] | None) -> str:
    if parent is None:
        return "unknown field"
    known = _fields(parent)
    if meant := closest(name, known):
        return f"unknown field; did you mean {meant}?"
    if not known:
        return "unknown field; there are no fields here"
    if len(known) > _FEW_FIELDS:
        return "unknown field"
    return f"unknown field; the fields here are {', '.join(sorted(known))}"


def shown(value: object) -> str:
    """Show a value as its writer would know it again, cut to a length that fits a line."""
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}...")
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple | set) else str(value)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Map a model's fields, as a document spells them, to their types."""
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _resolve(
    model: type[BaseModel] | None, loc: tuple[int | str, ...]
) -> tuple[list[int | str], type[BaseModel] | None]:
    """`loc` without what pydantic adds to it, and the model that its last part is a field of.

    Pydantic names the member of a union that it tried, and marks an error in a key, as if they
    were parts of the document.
    """
    kind: Any = model
    path: list[int | str] = []
    parent: type[BaseModel] | None = None
    for part in loc:
        if part == "[key]" and part is loc[-1]:
            break
        kind = _single(kind)
        if _members(kind):
            kind = next((each for each in _members(kind) if _is_called(each, part)), None)
            continue
        parent = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
        path.append(part)
        kind = _inside(kind, part)
    return path, parent


def _single(kind: Any) -> Any:  # noqa: ANN401 - a type expression may be any object
    """Take Annotated and ``| None`` off a type: pydantic adds nothing to a path for them."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif len(some := [m for m in get_args(kind) if m is not types.NoneType]) == 1 and _is_union(
            kind
        ):
            kind = some[0]
        else:
            return kind


def _is_union(kind: object) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def _members(kind: object) -> list[Any]:
    return [m for m in get_args(kind) if m is not types.NoneType] if _is_union(kind) else []


def _is_called(member: object, tag: int | str) -> bool:
    return getattr(_single(member), "__name__", None) == tag


def _inside(kind: Any, part: int | str) -> Any:  # noqa: ANN401 - as _single
    """Return the type of an item or field of `kind`; None where that cannot be told."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _fields(kind).get(str(part))
    arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
    return arguments[-1] if arguments else None
