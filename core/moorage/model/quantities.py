"""Kubernetes quantities (``100m``, ``1.5Gi``, ``1e3``) as exact integers.

The rule is the API's `resource.Quantity`: a decimal number with a binary, decimal or exponent
suffix; where an integer is wanted, fractions are rounded up, away from zero.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

__all__ = [
    "LARGEST_INT64",
    "InvalidQuantityError",
    "parse_milli",
    "parse_quantity",
    "parse_thousandths",
    "parse_value",
    "write_number",
]

_SYNTAX = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?", re.ASCII
)
_SUFFIX = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix + "i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}
_LARGEST_EXPONENT = 30
LARGEST_INT64 = 2**63 - 1


class InvalidQuantityError(ValueError):
    """A text that is no quantity."""


@lru_cache(maxsize=65536)
def parse_value(text: str) -> int:
    """Read a quantity as a whole number of its unit, rounded up; `InvalidQuantityError` if none."""
    return _ceil(_parse(text))


@lru_cache(maxsize=65536)
def parse_milli(text: str) -> int:
    """Read a quantity in thousandths of its unit, rounded up; `InvalidQuantityError` if none."""
    return _ceil(_parse(text) * 1000)


@lru_cache(maxsize=65536)
def parse_thousandths(text: str) -> int:
    """Read as `parse_milli`, but never capped: for sums, which are capped in the end."""
    return _round_up(_parse(text) * 1000)


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Fraction:
    """Read a quantity exactly; `InvalidQuantityError` if it is none."""
    return _parse(text)


def write_number(number: float) -> str:
    """Write a finite JSON number as the API's canonical text: 1.5 as ``1500m``, 1000 as ``1k``.

    As there, what is finer than a billionth is rounded up, away from zero.
    """
    nano = _round_up(Fraction(repr(number)) * 10**9)
    if not nano:
        return "0"
    suffix, whole = "n", nano
    for coarser in ("u", "m", "", *"kMGTPE"):
        if whole % 1000:
            break
        suffix, whole = coarser, whole // 1000
    return f"{whole}{suffix}"


def _parse(text: str) -> Fraction:
    found = _SYNTAX.fullmatch(text)
    if found is None:
        raise InvalidQuantityError(f"{text!r} is not a quantity such as 500m, 2 or 1.5Gi")
    sign, digits, suffix, exponent = found.groups()
    number = Fraction(digits)
    if suffix:
        number *= _SUFFIX[suffix]
    elif exponent:
        if abs(int(exponent)) > _LARGEST_EXPONENT:
            raise InvalidQuantityError(f"{text!r} has an exponent beyond {_LARGEST_EXPONENT}")
        number *= Fraction(10) ** int(exponent)
    return -number if sign == "-" else number


def _ceil(number: Fraction) -> int:
    # As the API: what does not fit is capped.
    return max(-LARGEST_INT64, min(_round_up(number), LARGEST_INT64))


def _round_up(number: Fraction) -> int:
    """Round away from zero."""
    whole = -(-abs(number.numerator) // number.denominator)
    return whole if number >= 0 else -whole
