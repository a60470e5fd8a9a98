"""Log lines: how many, and what they look like."""

from __future__ import annotations

import json
import logging
import re

import pytest

from moorage.cli.logs import set_up_logging
from moorage.fault_log import NOTICE


@pytest.mark.parametrize(
    ("verbosity", "levels"),
    [
        (-1, "WE"),
        (0, "WE"),
        (1, "WE"),
        (2, "IWE"),
        (3, "DIWE"),
        (4, "TDIWE"),
        (10, "TDIWE"),
    ],
)
def test_levels_are_klogs(capsys: pytest.CaptureFixture[str], verbosity: int, levels: str) -> None:
    """What becomes of pods from 2 on, attempts from 3 on, everything from 4 on."""
    set_up_logging(verbosity)
    logger = logging.getLogger("moorage.anywhere")

    for level, letter in ((5, "T"), (10, "D"), (20, "I"), (30, "W"), (40, "E")):
        logger.log(level, letter)

    assert [line[-1] for line in capsys.readouterr().err.splitlines()] == list(levels)


@pytest.mark.parametrize(("verbosity", "lines"), [(7, 0), (8, 1)])
def test_libraries_are_heard_from_8_on(
    capsys: pytest.CaptureFixture[str], verbosity: int, lines: int
) -> None:
    """Their warnings always are."""
    set_up_logging(verbosity)

    logging.getLogger("aiohttp").info("connected")

    assert len(capsys.readouterr().err.splitlines()) == lines


def test_a_line_is_one_of_klogs(capsys: pytest.CaptureFixture[str]) -> None:
    """Letter, date, time to the microsecond, where from, text."""
    set_up_logging(2)

    logging.getLogger("moorage.session").info("bound %s", "default/web")

    assert re.fullmatch(
        r"I\d{4} \d\d:\d\d:\d\d\.\d{6} moorage\.session\] bound default/web\n",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize(("verbosity", "told"), [(3, False), (4, True)])
def test_tracebacks_are_shown_from_4_on(
    capsys: pytest.CaptureFixture[str], verbosity: int, *, told: bool
) -> None:
    """Below, the exception is the end of the one line."""
    set_up_logging(verbosity)

    logging.getLogger("moorage").error("failed", exc_info=ValueError("no\nway"))

    err = capsys.readouterr().err
    assert ("\nValueError: no\n" in err) is told
    assert told or err.endswith("] failed: ValueError: no way\n")


def test_notices_are_read_at_every_level(capsys: pytest.CaptureFixture[str]) -> None:
    """Who leads matters to everybody, and is nothing wrong."""
    set_up_logging(0)

    logging.getLogger("moorage.serving").log(NOTICE, "leads")

    assert capsys.readouterr().err.startswith("I")


def test_json_has_the_keys_of_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line; what it is about under keys of its own, an error under err."""
    set_up_logging(2, "json")

    logger = logging.getLogger("moorage.session")
    logger.info("bound %s", "ns/p", extra={"about": {"pod": "ns/p", "node": "n1"}})
    logger.error("failed", exc_info=ValueError("no\nway"))

    bound, failed = map(json.loads, capsys.readouterr().err.splitlines())
    assert isinstance(bound.pop("ts"), float)
    assert bound.pop("caller").startswith("test_logs.py:")
    assert bound == {
        "logger": "moorage.session",
        "severity": "info",
        "msg": "bound ns/p",
        "v": 2,
        "pod": "ns/p",
        "node": "n1",
    }
    assert (failed["severity"], failed["err"]) == ("error", "ValueError: no\nway")
    assert "v" not in failed
