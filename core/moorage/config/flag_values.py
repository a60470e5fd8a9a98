"""The values of flags, as Go's flag library pflag reads each type."""

from __future__ import annotations

import csv
import ipaddress
import math
import re
from typing import TYPE_CHECKING, Final

from moorage.config.durations import parse_duration
from moorage.config.feature_gates import known_feature_gates
from moorage.config.sentences import closest

if TYPE_CHECKING:
    from collections.abc import Callable

    from moorage.config.flag_table import FlagType

__all__ = ["PARSERS", "parse_bool", "parse_feature_gates", "parse_map", "parse_strings"]

_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_QUANTITY: Final = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?"
)


def parse_bool(text: str) -> bool:
    """Read a boolean in one of Go's spellings (1, t, T, TRUE, true, True and their opposites).

    Raises ValueError with a sentence for any other text, ``yes`` among them.
    """
    if text not in _BOOLS:
        raise ValueError(f"{text!r} is neither true nor false")
    return _BOOLS[text]


def parse_strings(text: str) -> list[str]:
    """Split a list at its commas; a part in double quotes may hold commas itself."""
    return next(csv.reader([text]), [])


def parse_map(text: str) -> dict[str, str]:
    """Read ``a=1,b=2``. Raises ValueError with a sentence for a part without ``=``."""
    pairs = {}
    for part in parse_strings(text):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} is no pair; write it as key=value")
        pairs[key] = value
    return pairs


def parse_feature_gates(text: str) -> dict[str, bool]:
    """Read ``A=true,kube:B=false``.

    Raises ValueError with a sentence for a gate that kube-scheduler 1.36 does not know, naming the
    one that was probably meant.
    """
    known = known_feature_gates()
    gates = {}
    for written, value in parse_map(text).items():
        component, colon, name = written.rpartition(":")
        if colon and component != "kube":
            raise ValueError(f"{component!r} is no component here; kube is the only one")
        if name not in known:
            meant = closest(name, known)
            raise ValueError(
                f"unknown feature gate {name}" + (f"; did you mean {meant}?" if meant else "")
            )
        try:
            gates[name] = parse_bool(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return gates


def _parse_integer(text: str, *, bits: int) -> int:
    limit = 2 ** (bits - 1)
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not an integer")
    if not -limit <= int(text) < limit:
        raise ValueError(f"{text} does not fit {bits} bits")
    return int(text)


def _parse_int32(text: str) -> int:
    return _parse_integer(text, bits=32)


def _parse_int(text: str) -> int:
    return _parse_integer(text, bits=64)


def _parse_float(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a number")
    return number


def _parse_int32_list(text: str) -> list[int]:
    return [_parse_int32(part.strip()) for part in parse_strings(text)]


def _parse_ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address") from None


def _parse_quantity(text: str) -> str:
    if not _QUANTITY.fullmatch(text):
        raise ValueError(f"{text!r} is not a quantity; write it as 512Ki or 1M")
    return text


PARSERS: Final[dict[FlagType, Callable[[str], object]]] = {
    "bool": parse_bool,
    "duration": parse_duration,
    "feature_gates": parse_feature_gates,
    "float32": _parse_float,
    "int": _parse_int,
    "int32": _parse_int32,
    "int32_list": _parse_int32_list,
    "ip": _parse_ip,
    "map": parse_map,
    "quantity": _parse_quantity,
    "string": str,
    "strings": parse_strings,
}
"""For each type of flag, what reads its text; each raises ValueError with a sentence."""
