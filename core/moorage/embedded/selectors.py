"""Label and field selectors, as they stand in a query string."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.embedded.resources import Resource

__all__ = ["Selection", "parse_selection"]

_REQUIREMENT = re.compile(
    r"""\s*(?:
      (?P<absent>!\s*)?(?P<bare>[\w./-]+)
    | (?P<key>[\w./-]+)\s*(?P<equals>==|=|!=)\s*(?P<value>[\w.-]*)
    | (?P<set_key>[\w./-]+)\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
    | (?P<number_key>[\w./-]+)\s*(?P<compares>[<>])\s*(?P<number>-?\d+)
    )\s*""",
    re.VERBOSE,
)
_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")
_FIELD = re.compile(r"(?P<label>[^=!]+?)(?P<equals>==|=|!=)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement on a label; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is selected."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        if value is None or not value.lstrip("-").isdecimal():
            return False
        bound = int(next(iter(self.values)))
        return int(value) > bound if self.operator == "Gt" else int(value) < bound


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """``label=value`` or ``label!=value`` on one of a resource's selectable fields."""

    label: str
    value: str
    equal: bool

    def accepts(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these field values is selected."""
        return (fields.get(self.label, "") == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or watch asks for: a namespace (None: all) and requirements on the objects."""

    namespace: str | None = None
    labels: tuple[LabelRequirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def selects(self) -> bool:
        """Whether a selector narrows the namespace's objects at all."""
        return bool(self.labels or self.fields)

    def accepts(self, namespace: str, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Tell whether an object with this namespace, these labels and field values is selected."""
        return (
            (self.namespace is None or self.namespace == namespace)
            and all(requirement.accepts(labels) for requirement in self.labels)
            and all(requirement.accepts(fields) for requirement in self.fields)
        )


def parse_selection(
    resource: Resource,
    *,
    namespace: str | None = None,
    label_selector: str = "",
    field_selector: str = "",
) -> Selection:
    """Read the selectors of a request for `resource`; a 400 names what cannot be read."""
    return Selection(namespace, parse_labels(label_selector), _fields(resource, field_selector))


def parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    """Read ``a=b,c in (d,e),!f,g,h!=i,j>1``."""
    if not text.strip():
        return ()
    return tuple(_label_requirement(part, text) for part in _OUTSIDE_PARENTHESES.split(text))


def _label_requirement(part: str, whole: str) -> LabelRequirement:
    found = _REQUIREMENT.fullmatch(part)
    if found is None:
        raise bad_request(
            f"unable to parse requirement: found {part.strip()!r} in label selector {whole!r}"
        )
    if found["bare"]:
        return LabelRequirement(found["bare"], "DoesNotExist" if found["absent"] else "Exists")
    if found["key"]:
        operator = "NotIn" if found["equals"] == "!=" else "In"
        return LabelRequirement(found["key"], operator, frozenset([found["value"]]))
    if found["set_key"]:
        operator = "In" if found["set"] == "in" else "NotIn"
        values = frozenset(value.strip() for value in found["values"].split(","))
        return LabelRequirement(found["set_key"], operator, values)
    operator = "Gt" if found["compares"] == ">" else "Lt"
    return LabelRequirement(found["number_key"], operator, frozenset([found["number"]]))


def _fields(resource: Resource, text: str) -> tuple[FieldRequirement, ...]:
    requirements = []
    for part in filter(None, text.split(",")):
        found = _FIELD.fullmatch(part)
        if found is None:
            raise _unreadable_field(part)
        label = found["label"].strip()
        if resource.field_path(label) is None:
            raise bad_request(f"field label not supported: {label}")
        requirements.append(FieldRequirement(label, found["value"], found["equals"] != "!="))
    return tuple(requirements)


def _unreadable_field(part: str) -> StatusError:
    return bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
