"""Go's durations: ``15s``, ``1m0s``, ``1h30m``; here float seconds.

kube-scheduler's configuration and flags write every length of time as `time.Duration` prints it,
so these are read and printed in exactly that spelling: <https://pkg.go.dev/time#ParseDuration>.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

__all__ = ["GoDuration", "format_duration", "parse_duration"]

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # micro sign
    "\u03bcs": 1_000,  # Greek mu: Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_LONGEST_TEXT: Final = 200  # characters; Python refuses to turn thousands of digits into an int
_LARGEST: Final = 2**63 - 1  # nanoseconds: Go keeps a duration in an int64, about 292 years


def parse_duration(text: str) -> float:
    """Seconds in a Go duration such as ``1m30s``, ``250ms``, ``-1.5h`` or ``0``.

    Raises ValueError, with a sentence that shows how a duration is written, for anything else: a
    number without its unit, a unit that Go does not know (days), more than an int64 holds.
    """
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    nanoseconds = 0 if unsigned == "0" else _sum_of_terms(unsigned[:_LONGEST_TEXT])
    if nanoseconds is None:
        raise ValueError(f"{text!r} is not a duration; write it as 15s, 1m30s or 250ms")
    if nanoseconds > _LARGEST:
        raise ValueError(f"{text!r} is longer than a duration can be (about 292 years)")
    return (-nanoseconds if text.startswith("-") else nanoseconds) / 1e9


def _sum_of_terms(text: str) -> int | None:
    """Nanoseconds in ``1h2m3.5s``, or None where the text is no such sum."""
    total, position = 0, 0
    while position < len(text) or not text:
        term = _TERM.match(text, position)
        if term is None or not (term[1] or term[2]):
            return None
        whole, fraction, unit = int(term[1] or 0), term[2] or "", _NANOSECONDS[term[3]]
        total += whole * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        position = term.end()
    return total


def format_duration(seconds: float) -> str:
    """Print a duration as Go does: ``15s``, ``1m0s``, ``1h0m0s``, ``1.5s``, ``250ms``, ``0s``.

    The inverse of `parse_duration` for whole nanoseconds up to about a hundred days, beyond which
    a float no longer tells one nanosecond from the next.
    """
    nanoseconds = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds == 0:
        return "0s"
    for unit in ("ns", "\u00b5s", "ms"):
        if nanoseconds < 1_000 * _NANOSECONDS[unit]:
            return sign + _decimal(nanoseconds, _NANOSECONDS[unit]) + unit
    minutes, rest = divmod(nanoseconds, _NANOSECONDS["m"])
    hours, minutes_of_hour = divmod(minutes, 60)
    hours_text = f"{hours}h" if hours else ""
    minutes_text = f"{minutes_of_hour}m" if minutes else ""
    return f"{sign}{hours_text}{minutes_text}{_decimal(rest, _NANOSECONDS['s'])}s"


def _decimal(nanoseconds: int, unit: int) -> str:
    """Write a number of units with as many decimals as it takes and no trailing zero."""
    whole, rest = divmod(nanoseconds, unit)
    decimals = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{decimals}" if decimals else str(whole)


def _from_document(value: object) -> object:
    """Take text alone: like Go, refuse a bare number, since it has no unit."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a duration; write it as text with a unit, such as 15s")  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into an error of the field
    return parse_duration(value)


GoDuration = Annotated[
    float, BeforeValidator(_from_document), PlainSerializer(format_duration, return_type=str)
]
"""A pydantic field: Go's spelling in the document, float seconds in Python."""
