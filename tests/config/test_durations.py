"""Go's durations, read and printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("15s", 15.0),
        ("1m0s", 60.0),
        ("1h2m3.5s", 3723.5),
        ("250ms", 0.25),
        (".5s", 0.5),
        ("5.s", 5.0),
        ("-1.5h", -5400.0),
        ("+2us", 2e-6),
        ("3\u00b5s", 3e-6),
        ("3\u03bcs", 3e-6),
        ("1ns", 1e-9),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    """Terms add up, fractions and signs count, both spellings of micro are known."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "15", "15 seconds", "1d", "s", ".s", "-", "1m 0s", " 1s", "1s ", "\u0661s", "1e3s"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    """A number without a unit, a unit that Go lacks, a blank: the sentence shows how to write it."""
    with pytest.raises(ValueError, match="is not a duration; write it as 15s, 1m30s or 250ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["3000000h", "9" * 5000 + "s"])
def test_a_duration_longer_than_an_int64_is_refused(text: str) -> None:
    """Go counts nanoseconds in 64 bits; more than that, however long the text, is an error."""
    with pytest.raises(ValueError, match=r"longer than|is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (1e-9, "1ns"),
        (1.5e-6, "1.5\u00b5s"),
        (0.25, "250ms"),
        (2.0, "2s"),
        (59.5, "59.5s"),
        (60.0, "1m0s"),
        (600.0, "10m0s"),
        (3600.0, "1h0m0s"),
        (90061.001, "25h1m1.001s"),
        (-1.5, "-1.5s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(seconds: float, text: str) -> None:
    """Minutes are shown with their seconds, hours with both, less than a second in its own unit."""
    assert format_duration(seconds) == text


@given(st.integers(-(10**15), 10**15))
def test_printing_and_reading_are_inverse(nanoseconds: int) -> None:
    """Any whole number of nanoseconds up to eleven days survives the way out and back."""
    seconds = nanoseconds / 1e9

    assert parse_duration(format_duration(seconds)) == seconds
