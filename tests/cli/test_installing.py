"""`moorage install` and `uninstall`: what pip is asked, and what is said where there is none."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]

PLUGIN = """
    import moorage

    class Zone(moorage.Plugin):
        @moorage.hookimpl
        def filter(self):
            return None
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """Put a pip in place that notes what it is asked; return a call for what that was."""
    notes = tmp_path / "asked"
    folder = tmp_path / "pip-stand-in"
    (folder / "pip").mkdir(parents=True)
    (folder / "pip" / "__init__.py").touch()
    (folder / "pip" / "__main__.py").write_text(
        f"import json, sys\nopen({str(notes)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
        "sys.exit(7 if 'broken' in sys.argv else 0)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(folder) + os.pathsep + os.environ.get("PYTHONPATH", ""))

    def lines() -> list[list[str]]:
        return [json.loads(line) for line in notes.read_text("utf-8").splitlines()]

    return lines


@pytest.fixture
def _no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide pip, as an environment made by uv does."""
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else find(name)
    )


def test_what_is_named_is_installed_by_pip(
    moorage: Command, asked: Callable[[], list[list[str]]]
) -> None:
    """Names, folders and URLs, and what stands behind ``--``, as they are."""
    code, _, _ = moorage(
        "install", "-U", "-e", "./mine", "zone>=2", "--", "--index-url", "https://example.com"
    )

    assert code == 0
    assert asked() == [
        [
            *("install", "--upgrade", "--editable", "./mine"),
            *("zone>=2", "--index-url", "https://example.com"),
        ]
    ]


def test_the_exit_code_is_that_of_pip(
    moorage: Command, asked: Callable[[], list[list[str]]]
) -> None:
    """Pip has said what is wrong."""
    assert moorage("install", "broken")[0] == 7
    assert asked() == [["install", "broken"]]


def test_what_came_is_told(moorage: Command, asked: Callable[[], list[list[str]]]) -> None:
    """A package without plugins may have been meant, or not."""
    _, out, _ = moorage("install", "nothing")

    assert out == "No plugin came with that; `moorage plugins` lists those there are.\n"


def test_something_must_be_named(moorage: Command) -> None:
    """In one sentence."""
    code, _, err = moorage("install")

    assert (code, "name a package, a folder or a URL" in err) == (2, True)


@pytest.mark.usefixtures("_no_pip")
def test_without_pip_it_says_what_to_type(moorage: Command, install: Installer) -> None:
    """As in environments made by uv."""
    install("zone", PLUGIN, plugins="Zone")
    code, _, err = moorage("install", "zone>=2")

    assert code == 2
    assert err == (
        "Error: this environment has no pip; type: uv pip install --python "
        f"{sys.executable} 'zone>=2'\n"
    )
    _, _, err = moorage("uninstall", "-y", "zone")
    assert err.endswith(f"type: uv pip uninstall --python {sys.executable} zone\n")


def test_a_package_is_uninstalled_by_the_name_of_a_plugin(
    moorage: Command, install: Installer, asked: Callable[[], list[list[str]]]
) -> None:
    """People know the plugin; what else goes with it is told."""
    install("zone-gone", f"{PLUGIN}\n    class Other(Zone): pass", plugins="Zone Other")
    install("other-package", PLUGIN, plugins="")

    _, _, err = moorage("uninstall", "-y", "Zone", "other-package")

    assert asked() == [["uninstall", "--yes", "zone-gone", "other-package"]]
    assert err == "Notice: zone-gone has Other as well\n"


@pytest.mark.parametrize("name", ["moorage", "NodeName"])
def test_what_runs_is_not_uninstalled(name: str, moorage: Command) -> None:
    """Built-in plugins can be disabled."""
    code, _, err = moorage("uninstall", "-y", name)

    assert code == 2
    assert err.startswith(f"Error: {name} is part of moorage, which is running; disable it in a ")


@pytest.mark.parametrize("name", ["numpy", "Jinja2", "typing_extensions"])
def test_what_moorage_stands_on_is_not_uninstalled(
    name: str, moorage: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what these stand on: the next command would not start."""
    needs = {"moorage": ["numpy", "aiohttp", "copier; extra == 'template'"], "aiohttp": ["jinja2"]}
    needs |= {"jinja2": ["typing-extensions>=4"], "numpy": [], "typing-extensions": []}
    monkeypatch.setattr(importlib.metadata, "requires", lambda package: needs[package])
    monkeypatch.setattr(importlib.metadata, "distribution", lambda package: package)

    code, _, err = moorage("uninstall", "-y", name)

    assert code == 2
    assert err == f"Error: {name} is no package of plugins: moorage itself stands on it\n"


def test_what_is_not_there_is_not_uninstalled(moorage: Command) -> None:
    """Pip says so in a warning, and ends as if it had done something."""
    code, _, err = moorage("uninstall", "-y", "nope")

    assert code == 2
    assert err == (
        "Error: 'nope' is neither a plugin nor a package that is installed; `moorage plugins` lists"
        " those there are\n"
    )


def test_pip_is_left_alone_with_its_own_options(
    moorage: Command, asked: Callable[[], list[list[str]]]
) -> None:
    """What follows one may be no package, but its value."""
    assert moorage("uninstall", "-y", "--", "-r", "plugins.txt")[0] == 0
    assert asked() == [["uninstall", "--yes", "-r", "plugins.txt"]]


def test_without_a_terminal_there_is_nobody_to_ask(
    moorage: Command, install: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pip would ask all the same, and fall over its own feet."""
    install("zone-gone", PLUGIN, plugins="Zone")
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    code, _, err = moorage("uninstall", "Zone")

    assert code == 2
    assert err == (
        "Error: there is no terminal to ask on; give --yes to uninstall without asking\n"
    )
