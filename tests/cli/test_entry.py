"""The command as a whole: its sub-commands, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import click
import pytest

from moorage.cli import entry, main
from moorage.errors import ConfigurationError

Command = Callable[..., tuple[int, str, str]]


def test_help_names_every_command(moorage: Command) -> None:
    """And the one to begin with."""
    code, out, err = moorage("--help")

    assert (code, err) == (0, "")
    for name in ("run", "plugins", "verify", "version"):
        assert f"\n  {name} " in out
    assert "moorage run --embedded --until-idle" in out


def test_alone_it_shows_the_help(moorage: Command) -> None:
    """Exit code 2, since nothing was done."""
    code, _, err = moorage()

    assert code == 2
    assert err.startswith("Usage: moorage ")


def test_version_is_one_line(moorage: Command) -> None:
    """For scripts that ask which one is there."""
    assert moorage("--version") == (0, f"moorage {metadata.version('moorage')}\n", "")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["sail"], "No such command 'sail'; see moorage --help"),
        (["version", "--fast"], "No such option '--fast'; see moorage version --help"),
        (
            ["version", "-v", "much"],
            (
                "Invalid value for '-v' / '--v': 'much' is no level of logging, such as 0, 2 or 4;"
                " see moorage version --help"
            ),
        ),
        (
            ["version", "-v", "-1"],
            (
                "Invalid value for '-v' / '--v': '-1' is no level of logging, such as 0, 2 or 4;"
                " see moorage version --help"
            ),
        ),
        (
            ["run", "--embedded", "--port", "1x"],
            (
                "Invalid value for '--port': '1x' is no port: a number from 0 to 65535;"
                " see moorage run --help"
            ),
        ),
        (
            ["run", "--embedded", "--port", "65536"],
            (
                "Invalid value for '--port': '65536' is no port: a number from 0 to 65535;"
                " see moorage run --help"
            ),
        ),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    moorage: Command, argv: list[str], sentence: str
) -> None:
    """Exit code 2, and where to read on."""
    assert moorage(*argv) == (2, "", f"Error: {sentence}\n")


def _fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make `moorage version` raise."""

    def fail() -> None:
        raise error

    command = click.Command("version", callback=fail)
    monkeypatch.setattr(entry._Commands, "get_command", lambda *_: command)


def test_what_the_user_can_put_right_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, moorage: Command
) -> None:
    """Exit code 2."""
    _fail_with(monkeypatch, ConfigurationError("c.yaml: profiles: must not be empty"))

    assert moorage("version") == (2, "", "Error: c.yaml: profiles: must not be empty\n")


def test_of_a_broken_task_group_the_users_part_is_told(
    monkeypatch: pytest.MonkeyPatch, moorage: Command
) -> None:
    """Whatever else broke beside it."""
    inner = ExceptionGroup("inner", [ConfigurationError("c.yaml: wrong")])
    _fail_with(monkeypatch, ExceptionGroup("outer", [ValueError("also"), inner]))

    assert moorage("version") == (2, "", "Error: c.yaml: wrong\n")


def test_a_fault_of_ours_is_one_sentence_too(
    monkeypatch: pytest.MonkeyPatch, moorage: Command
) -> None:
    """Exit code 1, and how to see more."""
    _fail_with(monkeypatch, ZeroDivisionError("division\nby zero"))

    assert moorage("version") == (
        1,
        "",
        (
            "Error: this is a fault in Moorage: ZeroDivisionError: division by zero; "
            "run again with -v 4 for the traceback\n"
        ),
    )


def test_the_traceback_is_shown_from_level_4_on(
    monkeypatch: pytest.MonkeyPatch, moorage: Command
) -> None:
    """Before the sentence, which stays the last line."""
    _fail_with(monkeypatch, ZeroDivisionError("division by zero"))

    *_, err = moorage("-v", "3", "version")
    assert "Traceback" not in err
    *_, err = moorage("-v", "4", "version")
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith("Error: this is a fault in Moorage: ZeroDivisionError: division by zero\n")


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, moorage: Command) -> None:
    """Exit code 130, as a shell expects, and no words."""
    _fail_with(monkeypatch, KeyboardInterrupt())

    code, out, err = moorage("version")

    assert (code, out, err.strip()) == (130, "", "")


def test_an_exit_code_of_a_command_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `moorage verify` answers with 1 where something differs."""
    command = click.Command("version", callback=lambda: 1)
    monkeypatch.setattr(entry._Commands, "get_command", lambda *_: command)

    assert main(["version"]) == 1
