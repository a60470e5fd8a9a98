"""What Kubernetes adds to CEL: quantities and semantic versions, as in selectors of devices.

Values travel through CEL as maps of one entry, whose key says what they are: ``{"quantity": ..}`` and
``{"semver": ..}``. Their texts are canonical, so that CEL's own ``==`` compares them rightly. What
is wrong raises ValueError, which ends the evaluation with its text.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from moorage.model import InvalidQuantityError, parse_quantity
from moorage_builtin.dynamic_resources.semver import Semver

__all__ = ["FUNCTIONS", "Function", "quantity_value", "semver_value"]

_QUANTITY, _SEMVER = "quantity", "semver"
_LARGEST_INT64 = 2**63 - 1

Value: TypeAlias = dict[str, str]


class Function(NamedTuple):
    """One overload: argument and return types by CEL's names, and what it does.

    A `member` is called on its first argument: ``a.isLessThan(b)``.
    """

    name: str
    member: bool
    arguments: tuple[str, ...]
    returns: str
    call: Callable[..., Any]

    @property
    def id(self) -> str:
        """A name that no other overload has."""
        return "_".join((self.name, *self.arguments)).lower()


def quantity_value(text: str) -> Value:
    """Turn a quantity into a value of CEL; ValueError if it is none."""
    return _of_number(parse_quantity(text))


def semver_value(text: str, normalize: bool = False) -> Value:  # noqa: FBT001, FBT002 - as CEL passes it
    """Turn a semantic version into a value of CEL; ValueError if it is none."""
    return {_SEMVER: str(Semver.parse(text, normalize=normalize))}


def _of_number(number: Fraction) -> Value:
    return {_QUANTITY: str(number)}


def _number(value: Value | int) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    if _QUANTITY not in value:
        raise ValueError("no such overload: a quantity was expected")
    return Fraction(value[_QUANTITY])


def _version(value: Value) -> Semver:
    if _SEMVER not in value:
        raise ValueError("no such overload: a semantic version was expected")
    return Semver.parse(value[_SEMVER])


def _compare(left: Value, right: Value) -> int:
    if _SEMVER in left:
        return _version(left).compare(_version(right))
    difference = _number(left) - _number(right)
    return (difference > 0) - (difference < 0)


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except InvalidQuantityError:
        return False
    return True


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - as CEL passes it
    try:
        Semver.parse(text, normalize=normalize)
    except ValueError:
        return False
    return True


def _is_integer(value: Value) -> bool:
    number = _number(value)
    return number.denominator == 1 and abs(number) <= _LARGEST_INT64


def _as_integer(value: Value) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(_number(value))


def _sign(value: Value) -> int:
    number = _number(value)
    return (number > 0) - (number < 0)


FUNCTIONS: tuple[Function, ...] = (
    Function("quantity", False, ("STRING",), "MAP", quantity_value),
    Function("isQuantity", False, ("STRING",), "BOOL", _is_quantity),
    Function("semver", False, ("STRING",), "MAP", semver_value),
    Function("semver", False, ("STRING", "BOOL"), "MAP", semver_value),
    Function("isSemver", False, ("STRING",), "BOOL", _is_semver),
    Function("isSemver", False, ("STRING", "BOOL"), "BOOL", _is_semver),
    Function("compareTo", True, ("MAP", "MAP"), "INT", _compare),
    Function("isLessThan", True, ("MAP", "MAP"), "BOOL", lambda a, b: _compare(a, b) < 0),
    Function("isGreaterThan", True, ("MAP", "MAP"), "BOOL", lambda a, b: _compare(a, b) > 0),
    Function("sign", True, ("MAP",), "INT", _sign),
    Function("isInteger", True, ("MAP",), "BOOL", _is_integer),
    Function("asInteger", True, ("MAP",), "INT", _as_integer),
    Function("asApproximateFloat", True, ("MAP",), "DOUBLE", lambda a: float(_number(a))),
    Function("add", True, ("MAP", "MAP"), "MAP", lambda a, b: _of_number(_number(a) + _number(b))),
    Function("add", True, ("MAP", "INT"), "MAP", lambda a, b: _of_number(_number(a) + b)),
    Function("sub", True, ("MAP", "MAP"), "MAP", lambda a, b: _of_number(_number(a) - _number(b))),
    Function("sub", True, ("MAP", "INT"), "MAP", lambda a, b: _of_number(_number(a) - b)),
    Function("major", True, ("MAP",), "INT", lambda a: _version(a).major),
    Function("minor", True, ("MAP",), "INT", lambda a: _version(a).minor),
    Function("patch", True, ("MAP",), "INT", lambda a: _version(a).patch),
)
