"""`moorage new-plugin`: where it writes, what it refuses, what it says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_a_package_is_written_into_a_new_folder(moorage: Command, tmp_path: Path) -> None:
    """And nothing beside it."""
    code, out, err = moorage(
        "new-plugin",
        "made",
        "--defaults",
        "--data",
        "plugin_name=ZoneRank",
        "--data",
        "points=score",
    )

    assert (code, err) == (0, "")
    assert out.startswith("Wrote plugin ZoneRank to made/\n")
    assert "  moorage plugins show ZoneRank\n" in out
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert "def score_nodes" in (tmp_path / "made/src/moorage_zone_rank/plugin.py").read_text()
    assert (tmp_path / "made/.copier-answers.yml").is_file()


def test_without_a_folder_it_is_called_like_the_package(moorage: Command, tmp_path: Path) -> None:
    """Which is called like the plugin."""
    code, _, _ = moorage("new-plugin", "--defaults", "--data", "plugin_name=ZoneRank")

    assert code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["moorage-zone-rank"]


def test_an_empty_folder_will_do(moorage: Command, tmp_path: Path) -> None:
    """As `git clone` has it."""
    (tmp_path / "made").mkdir()

    assert moorage("new-plugin", "made", "--defaults")[0] == 0
    assert (tmp_path / "made/pyproject.toml").is_file()


def test_a_folder_with_something_in_it_is_left_alone(moorage: Command, tmp_path: Path) -> None:
    """Whatever it is."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made/mine").touch()

    code, _, err = moorage("new-plugin", "made", "--defaults")

    assert code == 2
    assert err == "Error: made exists already and is not empty; name a new folder\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "mine"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("plugin_name=zone", "plugin_name: write it in CamelCase, with at most 36 letters"),
        ("distribution=json", "distribution: write lower-case words joined by hyphens"),
        ("plugin_name=NodeName", "plugin_name: NodeName is one of Moorage's own plugins"),
        ("points=", "points: choose one at least"),
        ("points=filter,sort", "'sort' is not in"),
        ("form=rows", "'rows' is not in"),
        ("arguments=perhaps", "write arguments=true or arguments=false"),
        ("plugin_nam=Zone", "not NAME=VALUE of a question; did you mean plugin_name?"),
        ("module=x", "not NAME=VALUE of a question"),
        ("Zone", "not NAME=VALUE of a question; there are plugin_name, distribution"),
    ],
)
def test_what_is_no_answer_is_refused_and_nothing_is_written(
    data: str, sentence: str, moorage: Command, tmp_path: Path
) -> None:
    """In one sentence, with the name of the question."""
    code, _, err = moorage("new-plugin", "--defaults", "--data", data)

    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_answers_must_be_given(
    moorage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how."""
    with Path("/dev/null").open(encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        code, _, err = moorage("new-plugin")

    assert code == 2
    assert "there is no terminal to ask questions on; give --defaults" in err
    assert list(tmp_path.iterdir()) == []


def test_without_copier_it_says_what_to_type(
    moorage: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copier is an extra."""
    monkeypatch.setitem(sys.modules, "copier", None)

    code, _, err = moorage("new-plugin", "--defaults")

    assert code == 2
    assert err == (
        "Error: moorage new-plugin needs copier; type: "
        f"{sys.executable} -m pip install 'moorage[template]'\n"
    )


def test_where_nothing_can_be_written_that_is_said(moorage: Command, tmp_path: Path) -> None:
    """A file is where a folder would have to be."""
    (tmp_path / "file").touch()

    code, _, err = moorage("new-plugin", "file/made", "--defaults")

    assert code == 2
    assert err == (
        f"Error: no package can be written into {tmp_path}/file: File exists; name another DIR\n"
    )
