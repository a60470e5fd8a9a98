"""CEL over devices: each expression is compiled once, and asked once about devices that look alike.

The language is `cel_expr_python`, Google's own runtime; what Kubernetes adds to it is in
`functions.py`. An expression may come from anybody who can write a claim, so that it is bounded
three ways: by its length, as in the API; by the runtime's own bounds on depth (32) and on steps of
all its comprehensions together (10,000); and by what its text could make of its input at most, since
the runtime does not count bytes.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from moorage.model.devices import Device, DeviceAttribute
from moorage_builtin.dynamic_resources.functions import FUNCTIONS, quantity_value, semver_value

__all__ = ["DeviceLook", "Expression", "ExpressionError", "Expressions"]

_LONGEST = 10 * 1024
"""Characters of an expression, the API's own bound."""
_LARGEST_VALUE = 2**30
_LONGEST_COMPREHENSION = 10_000
_MOST_KEPT = 4096
_GROWING = re.compile(r"\.\s*(?:replace|join|format)\s*\(")
_COLLECTING = re.compile(r"\.\s*(?:map|filter|transform\w+)\s*\(")
_INDEXED = re.compile(r"""\[\s*\??\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\]""")
_ATTRIBUTES, _CAPACITY = "device.attributes", "device.capacity"
_TOLD_ATTRIBUTES, _TOLD_CAPACITY = "device_attributes", "device_capacity"
"""The same as the device tells them, without domains that are only asked for; of equal length."""
_TEXT_OR_WHOLE = re.compile(
    r"""
    "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | //[^\n]*  # left alone
    | \bin\s+device\.(?:attributes|capacity)\b(?!\s*[\[.])
    | \bdevice\.(?:attributes|capacity)(?=\s*\.\s*\w+\s*\()
    """,
    re.VERBOSE,
)
"""Where an expression asks which domains there are: ``'x' in device.attributes``, or a function."""


class ExpressionError(ValueError):
    """An expression that does not compile, or cannot be evaluated for a device."""


class DeviceLook:
    """What expressions can see of a device.

    Devices of one driver with equal attributes, capacities and sharing look alike.
    """

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._device = device

    @cached_property
    def variables(self) -> dict[str, Any]:
        """The variables of CEL; ExpressionError where the device says something that cannot be read."""
        device = self._device
        attributes: dict[str, dict[str, Any]] = {}
        for name, attribute in device.attributes.items():
            domain, identifier = self._split(name)
            attributes.setdefault(domain, {})[identifier] = _attribute_value(name, attribute)
        capacity: dict[str, dict[str, Any]] = {}
        for name, amount in device.capacity.items():
            domain, identifier = self._split(name)
            try:
                capacity.setdefault(domain, {})[identifier] = quantity_value(amount.value)
            except ValueError as error:
                raise ExpressionError(f"its capacity {name} cannot be read: {error}") from error
        return {
            "device.driver": self._driver,
            "device.allowMultipleAllocations": device.allow_multiple_allocations,
            _TOLD_ATTRIBUTES: attributes,
            _TOLD_CAPACITY: capacity,
        }

    def _split(self, name: str) -> tuple[str, str]:
        domain, slash, identifier = name.partition("/")
        return (domain, identifier) if slash else (self._driver, name)


class Expression:
    """A compiled expression and what it said so far; ExpressionError where it does not compile."""

    def __init__(self, text: str, environment: Any) -> None:  # noqa: ANN401 - cel.Env has no types
        _check_size(text)
        try:
            self._program = environment.compile(_TEXT_OR_WHOLE.sub(_as_told, text))
        except RuntimeError as error:
            raise ExpressionError(f"does not compile: {_first_line(error)}") from error
        returned = self._program.return_type().name()
        if returned not in {"BOOL", "DYN"}:
            raise ExpressionError(f"does not compile: it gives {returned.lower()}, not bool")
        self._domains = {one or other for one, other in _INDEXED.findall(text)}
        self._said: WeakKeyDictionary[DeviceLook, bool | ExpressionError] = WeakKeyDictionary()

    def selects(self, look: DeviceLook) -> bool:
        """Say whether devices that look so are selected; ExpressionError if that fails."""
        said = self._said.get(look)
        if said is None:
            try:
                said = self._ask(look)
            except ExpressionError as error:
                said = error
            self._said[look] = said
        if isinstance(said, ExpressionError):
            raise said
        return said

    def _ask(self, look: DeviceLook) -> bool:
        variables = look.variables
        domains = self._domains | {variables["device.driver"]}
        data = {
            **variables,
            _ATTRIBUTES: _with_domains(domains, variables[_TOLD_ATTRIBUTES]),
            _CAPACITY: _with_domains(domains, variables[_TOLD_CAPACITY]),
        }
        try:
            answer = self._program.eval(data=data)
        except RuntimeError as error:
            raise ExpressionError(f"cannot be evaluated: {_first_line(error)}") from error
        kind, value = answer.type().name(), answer.value()
        if kind == "ERROR":
            raise ExpressionError(f"cannot be evaluated: {_first_line(value)}")
        if kind != "BOOL":
            raise ExpressionError(f"gives {kind.lower()}, not bool")
        return bool(value)


class Expressions:
    """The expressions of a process by their text; those not used for long are dropped."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Expression | ExpressionError] = OrderedDict()

    def get(self, text: str) -> Expression:
        """Return an expression, compiled; ExpressionError where it does not compile."""
        found = self._kept.get(text)
        if found is None:
            try:
                found = Expression(text, self._environment)
            except ExpressionError as error:
                found = error
            self._kept[text] = found
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        if isinstance(found, ExpressionError):
            raise found
        return found

    @cached_property
    def _environment(self) -> Any:  # noqa: ANN401 - the library has no types
        # Only those who use devices pay for loading it: 40 ms and 15 MB.
        from cel_expr_python import cel  # noqa: PLC0415
        from cel_expr_python.ext import (  # noqa: PLC0415
            ext_bindings,
            ext_optional,
            ext_strings,
        )

        kinds = cel.Type
        attributes = kinds.Map(kinds.STRING, kinds.Map(kinds.STRING, kinds.DYN))
        capacity = kinds.Map(kinds.STRING, kinds.Map(kinds.STRING, kinds.MAP))
        return cel.NewEnv(
            variables={
                "device.driver": kinds.STRING,
                "device.allowMultipleAllocations": kinds.BOOL,
                _ATTRIBUTES: attributes,
                _CAPACITY: capacity,
                _TOLD_ATTRIBUTES: attributes,
                _TOLD_CAPACITY: capacity,
            },
            extensions=[
                ext_bindings.ExtBindings(),
                ext_optional.ExtOptional(),
                ext_strings.ExtStrings(),
            ],
            functions=_declared(cel),
        )


def _declared(cel: Any) -> list[Any]:  # noqa: ANN401 - the library has no types
    """Declare what Kubernetes adds to CEL."""
    overloads: dict[str, list[Any]] = {}
    for one in FUNCTIONS:
        overloads.setdefault(one.name, []).append(
            cel.Overload(
                one.id,
                return_type=getattr(cel.Type, one.returns),
                parameters=[getattr(cel.Type, argument) for argument in one.arguments],
                is_member=one.member,
                impl=one.call,
            )
        )
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]


def _with_domains(domains: Iterable[str], told: Mapping[str, Any]) -> dict[str, Any]:
    """Add the domains that are asked for: of one that a device lacks, all attributes are missing."""
    return {**{domain: {} for domain in domains}, **told}


def _as_told(found: re.Match[str]) -> str:
    """Have an expression ask for the domains that there are."""
    text = found[0]
    if text[0] in "\"'/":
        return text
    return text.replace(_ATTRIBUTES, _TOLD_ATTRIBUTES).replace(_CAPACITY, _TOLD_CAPACITY)


def _check_size(text: str) -> None:
    """Refuse an expression that is too long, or whose values could grow too large.

    What is added doubles at most, what is put into a text by another is at most as long as both.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(
            f"does not compile: it has {len(text)} characters, more than {_LONGEST}"
        )
    largest = (len(text) + 64) << text.count("+")
    largest *= (len(text) + 64) ** len(_GROWING.findall(text))
    if _COLLECTING.search(text):
        largest *= _LONGEST_COMPREHENSION
    if largest > _LARGEST_VALUE:
        raise ExpressionError(
            "does not compile: its values could grow too large; use fewer of +, replace, join, "
            "format and map"
        )


def _attribute_value(name: str, attribute: DeviceAttribute) -> Any:  # noqa: ANN401 - any value of CEL
    if attribute.version is not None:
        try:
            return semver_value(attribute.version)
        except ValueError as error:
            raise ExpressionError(f"its attribute {name} cannot be read: {error}") from error
    for value in (attribute.string, attribute.integer, attribute.boolean):
        if value is not None:
            return value
    raise ExpressionError(f"its attribute {name} has no value of a known type")


def _first_line(error: object) -> str:
    """Return the sentence of an error of the runtime, without its code and the drawing below it."""
    text = str(error).partition("\n")[0]
    text = re.sub(r"^[A-Z_]+: (?:ERROR: <input>:)?", "", text)
    return re.sub(r" \[[A-Z_]+\]$", "", text)
