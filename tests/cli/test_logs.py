"""Log lines: how many, and what they look like."""

from __future__ import annotations

import logging
import re

import pytest

from moorage.cli.logs import set_up_logging


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
