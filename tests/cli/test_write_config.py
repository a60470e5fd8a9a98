"""`moorage run --write-config-to`: what a configuration comes to, in full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

Command = Callable[..., tuple[int, str, str]]


def test_all_that_was_left_out_is_filled_in(moorage: Command, tmp_path: Path) -> None:
    """Of the configuration and of the plugins' arguments; nothing is run."""
    file = tmp_path / "full.yaml"

    code, out, _ = moorage("run", "--write-config-to", file, "--leader-elect-retry-period=3s")

    assert (code, out) == (0, f"Wrote {file}\n")
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert document["leaderElection"]["retryPeriod"] == "3s"
    (profile,) = document["profiles"]
    assert profile["schedulerName"] == "moorage"
    args = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"


def test_a_file_that_cannot_be_written_is_one_sentence(moorage: Command) -> None:
    """Exit code 2."""
    code, _, err = moorage("run", "--write-config-to", "/nowhere/full.yaml")

    assert code == 2
    assert err.endswith(
        "Error: --write-config-to /nowhere/full.yaml: cannot be written: No such file or"
        " directory\n"
    )
