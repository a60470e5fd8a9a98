"""Kubernetes quantities (``100m``, ``1.5Gi``, ``1e3``) as exact integers.

The rule is the API's `resource.Quantity`: a decimal number with a binary, decimal or exponent
suffix; where an integer is wanted, fractions are rounded up, away from zero.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

__all__ = ["InvalidQuantityError", "parse_milli", "parse_quantity", "parse_value"]

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
_LARGEST_INT64 = 2**63 - 1


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
def parse_quantity(text: str) -> Fraction:
    """Read a quantity exactly; `InvalidQuantityError` if it is none."""
    return _parse(text)


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
    whole = -(-abs(number.numerator) // number.denominator)
    whole = min(whole, _LARGEST_INT64)  # as the API: what does not fit is capped
    return whole if number >= 0 else -whole
