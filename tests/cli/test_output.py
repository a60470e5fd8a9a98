"""Tables, on terminals of any width and elsewhere."""

from __future__ import annotations

import sys

import pytest

from moorage.cli.output import print_renderable, table

NAME = "a-very-long-name-of-a-pod-of-a-deployment-7c9f8d-abcde"
REASON = "0/7 nodes are available: 2 node(s) had untolerated taint(s), 5 Insufficient cpu."


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Print a table of one row, and return its lines."""
    print_renderable(table(["POD", "WHY"], [[NAME, REASON]]))
    return capsys.readouterr().out.splitlines()


def test_elsewhere_a_row_is_a_line_without_blanks_at_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For grep and diff."""
    assert printed(capsys) == [f"{'POD':{len(NAME)}}   WHY", f"{NAME}   {REASON}"]


@pytest.mark.parametrize("columns", ["20", "80", "120"])
def test_on_a_terminal_only_the_last_column_is_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """A name that is cut or folded cannot be copied, however narrow the terminal is."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")

    lines = printed(capsys)

    assert len(lines) > 2
    assert NAME in lines[1]
    words = [word for line in lines[1:] for word in line.replace(NAME, "").split()]
    assert " ".join(words) == REASON


def test_what_looks_like_markup_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Names and messages are data."""
    print_renderable(table(["WHY"], [["[red]no[/red] :smile: 10.0.0.1"]]))

    assert capsys.readouterr().out.splitlines()[1] == "[red]no[/red] :smile: 10.0.0.1"
