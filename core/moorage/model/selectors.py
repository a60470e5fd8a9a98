"""Selectors, compiled once and asked often.

Rules: label selectors as in the API's `LabelSelector` (a missing selector matches nothing, an
empty one everything); node selector terms as in `NodeSelectorTerm` (a term with nothing in it
matches nothing; Gt and Lt compare integers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from moorage.model.affinity import NodeSelectorTerm
from moorage.model.meta import LabelSelector

__all__ = [
    "InvalidSelectorError",
    "Requirement",
    "Selector",
    "is_label_key",
    "node_term_requirements",
    "selector_of",
]

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL_VALUE = re.compile(f"(?:{_NAME})?")
_PART = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:(?=[^/]{{1,253}}/){_PART}(?:\.{_PART})*/)?{_NAME}")


class InvalidSelectorError(ValueError):
    """A selector that the API would refuse; the text names the field."""


class Requirement(NamedTuple):
    """One condition on the value of one key; hashable, so that equal ones share their answers."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def accepts(self, value: str | None) -> bool:
        """Say whether a value (None: the key is absent) meets the condition."""
        return _ACCEPTS[self.operator](value, self.values)


class Selector(NamedTuple):
    """Requirements that must all hold; none of them: everything matches."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels are selected."""
        if self.nothing:
            return False
        return all(needed.accepts(labels.get(needed.key)) for needed in self.requirements)


def selector_of(selector: LabelSelector | None, *, field: str = "labelSelector") -> Selector:
    """Compile a label selector; raises `InvalidSelectorError` that names `field`."""
    if selector is None:
        return Selector(nothing=True)
    needed = [
        Requirement(key, "In", frozenset((value,))) for key, value in selector.match_labels.items()
    ]
    for index, expression in enumerate(selector.match_expressions):
        where = f"{field}.matchExpressions[{index}]"
        _check(expression.operator, expression.values, _LABEL_OPERATORS, where)
        needed.append(
            Requirement(expression.key, expression.operator, frozenset(expression.values))
        )
    return Selector(tuple(sorted(needed, key=_order)))


def node_term_requirements(
    term: NodeSelectorTerm, *, field: str = "nodeSelectorTerms"
) -> tuple[tuple[Requirement, ...], tuple[Requirement, ...]]:
    """Compile a node selector term into conditions on labels and on fields.

    Raises `InvalidSelectorError` that names the field at fault.
    """
    labels = []
    for index, expression in enumerate(term.match_expressions):
        where = f"{field}.matchExpressions[{index}]"
        _check(expression.operator, expression.values, _NODE_OPERATORS, where)
        _check_label(expression.key, expression.values, where)
        labels.append(
            Requirement(expression.key, expression.operator, frozenset(expression.values))
        )
    fields = []
    for index, expression in enumerate(term.match_fields):
        where = f"{field}.matchFields[{index}]"
        if expression.key != "metadata.name":
            raise InvalidSelectorError(f"{where}.key: {expression.key!r} is not metadata.name")
        _check(expression.operator, expression.values, ("In", "NotIn"), where)
        if len(expression.values) > 1:
            raise InvalidSelectorError(f"{where}.values: a field takes one value")
        fields.append(
            Requirement(expression.key, expression.operator, frozenset(expression.values))
        )
    return tuple(labels), tuple(fields)


def is_label_key(text: str) -> bool:
    """Say whether a text can be the key of a label: a name, also with a domain before it."""
    return _LABEL_KEY.fullmatch(text) is not None


def _check(operator: str, values: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    if operator not in known:
        raise InvalidSelectorError(
            f"{where}.operator: {operator!r} is not one of {', '.join(known)}"
        )
    if operator in {"In", "NotIn"} and not values:
        raise InvalidSelectorError(f"{where}.values: {operator} needs at least one value")
    if operator in {"Exists", "DoesNotExist"} and values:
        raise InvalidSelectorError(f"{where}.values: {operator} takes no values")
    if operator in {"Gt", "Lt"} and (len(values) != 1 or _integer(values[0]) is None):
        raise InvalidSelectorError(f"{where}.values: {operator} needs one integer")


def _check_label(key: str, values: tuple[str, ...], where: str) -> None:
    """Refuse what no label can be; the API takes such values in preferences."""
    if not is_label_key(key):
        raise InvalidSelectorError(f"{where}.key: {key!r} cannot be the key of a label")
    for index, value in enumerate(values):
        if not _LABEL_VALUE.fullmatch(value):
            raise InvalidSelectorError(
                f"{where}.values[{index}]: {value!r} cannot be the value of a label"
            )


def _order(needed: Requirement) -> tuple[str, str, list[str]]:
    return needed.key, needed.operator, sorted(needed.values)


def _integer(text: str) -> int | None:
    """Read an integer of 64 bits; None: it is none, or beyond them."""
    try:
        number = int(text) if text.lstrip("+-").isdigit() and text.isascii() else None
    except ValueError:
        return None
    return number if number is None or -(2**63) <= number < 2**63 else None


def _compares(wanted: Callable[[int, int], bool]) -> Callable[[str | None, frozenset[str]], bool]:
    def accepts(value: str | None, values: frozenset[str]) -> bool:
        number = None if value is None else _integer(value)
        bound = _integer(next(iter(values)))
        return number is not None and bound is not None and wanted(number, bound)

    return accepts


_ACCEPTS: dict[str, Callable[[str | None, frozenset[str]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": _compares(lambda number, bound: number > bound),
    "Lt": _compares(lambda number, bound: number < bound),
}
