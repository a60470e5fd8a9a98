"""What the README tells people to type, and that it does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    """Return a fenced block of the README."""
    pattern = rf"^```{language}\n(.*?)^```$"
    found: list[str] = re.findall(pattern, README, flags=re.MULTILINE | re.DOTALL)
    return found[number]


@pytest.mark.parametrize(
    ("marker", "command"),
    [
        (
            "run",
            (
                "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/moorage run"
                " --embedded --until-idle"
            ),
        ),
        (
            "test",
            "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest",
        ),
    ],
)
def test_the_two_commands_stand_behind_their_markers(marker: str, command: str) -> None:
    """From there, `.ci/run` takes the line that it runs."""
    script = f"sed -n '/^<!-- {marker} -->/,/^```$/p' README.md | grep -E '^python3 -m venv'"
    found = subprocess.run(
        ["/bin/sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert found.stdout == f"{command}\n"


def test_the_plugin_of_the_readme_moves_pods(
    moorage: Command, install: Installer, tmp_path: Path
) -> None:
    """Installed under its entry point and enabled by its profile, it fills the cheapest zone."""
    project = tomllib.loads(block("toml"))["project"]
    (name, place), *_ = project["entry-points"]["moorage.plugins"].items()
    assert place == f"zone_cost:{name}"
    install(project["name"], block("python"), plugins=name, requires=project["dependencies"][0])
    configuration = tmp_path / "zone-cost.yaml"
    configuration.write_text(block("yaml"), encoding="utf-8")

    code, out, err = moorage(
        "run", "--embedded", "--until-idle", "--config", configuration, "-o", "json"
    )

    assert code == 0, err
    zones = Counter(pod["node"][-1] for pod in json.loads(out) if pod["node"])
    assert zones["b"] > zones["a"] + zones["c"]
    _, listed, _ = moorage("plugins", "--config", configuration, "-o", "json")
    assert {plugin["name"]: plugin["state"] for plugin in json.loads(listed)}[name] == "enabled"


def test_every_link_leads_somewhere() -> None:
    """Into this repository, that is."""
    targets = re.findall(r"\]\(([^):]+)\)", README)

    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
