"""The template: what it asks, what it refuses, and that what it writes works."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import copier
import pytest
import yaml
from packaging.specifiers import SpecifierSet
from tests.template.rendering import (
    POINTS,
    TEMPLATE,
    Combination,
    check_types,
    combinations_of_all,
    lint,
    render,
    render_all,
    run_tests,
)

from moorage.config.defaults import DEFAULT_PLUGINS
from moorage.framework.host import moorage_version

FEW = (
    Combination(("filter", "score")),
    Combination(("score",), form="per_node", arguments=False),
    Combination(POINTS),
    Combination(("reserve", "permit"), arguments=False),
)


def files(folder: Path) -> set[str]:
    """Return the names of all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_package_has_all_that_a_package_has(tmp_path: Path) -> None:
    """By default: Filter and Score as arrays, with arguments."""
    render(tmp_path, {"plugin_name": "ZoneRank"})

    assert files(tmp_path) == {
        ".copier-answers.yml",
        ".github/workflows/test.yml",
        ".gitignore",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src/moorage_zone_rank/__init__.py",
        "src/moorage_zone_rank/plugin.py",
        "src/moorage_zone_rank/py.typed",
        "tests/test_moorage_zone_rank.py",
    }
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "moorage-zone-rank"
    assert project["entry-points"]["moorage.plugins"] == {"ZoneRank": "moorage_zone_rank:ZoneRank"}
    assert "moorage-plugin" in project["keywords"]
    assert "Apache License" in (tmp_path / "LICENSE").read_text("utf-8")


def test_the_range_of_versions_holds_this_one(tmp_path: Path) -> None:
    """And ends where hooks may change."""
    render(tmp_path, {})

    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    (wanted,) = project["dependencies"]
    assert SpecifierSet(wanted.removeprefix("moorage")).contains(moorage_version())
    assert "<" in wanted


def test_what_it_writes_passes_its_tests_and_is_clean(tmp_path: Path) -> None:
    """A few combinations; all of them with -m packaging."""
    packages = render_all(tmp_path / "packages", FEW)

    assert lint(tmp_path / "packages") == ""
    done = run_tests(packages, tmp_path / "site")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_what_it_writes_is_typed(tmp_path: Path) -> None:
    """All points at once, in both forms."""
    wanted = [Combination(POINTS, form) for form in ("array", "per_node")]

    assert "".join(map(check_types, render_all(tmp_path, wanted))) == ""


@pytest.mark.packaging
@pytest.mark.slow
def test_every_combination_passes_its_tests_and_is_clean(tmp_path: Path) -> None:
    """Every point alone, every pair, and all of them."""
    packages = render_all(tmp_path / "packages", combinations_of_all())

    assert lint(tmp_path / "packages") == ""
    done = run_tests(packages, tmp_path / "site")
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        pytest.param({"plugin_name": "zoneRank"}, "CamelCase", id="lower-case"),
        pytest.param({"plugin_name": "Zone-Rank"}, "CamelCase", id="hyphen"),
        pytest.param({"plugin_name": "Z" * 37}, "at most 36", id="long"),
        pytest.param({"plugin_name": "Zone", "distribution": "Zone"}, "lower-case", id="case"),
        pytest.param({"distribution": "json"}, "at least two", id="one-word"),
        pytest.param({"distribution": "a-" + "b" * 43}, "at most 44", id="long-distribution"),
        pytest.param({"distribution": "moorage-builtin"}, "of Moorage's own", id="ours"),
        pytest.param({"description": 'Says "hm".'}, "without quotes", id="quotes"),
        pytest.param({"description": "No stop"}, "full stop", id="stop"),
        pytest.param({"points": []}, "choose one", id="no-point"),
        pytest.param({"author": "{{ x }}"}, "braces", id="braces"),
    ],
)
def test_names_that_would_not_work_are_refused(
    answers: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """Before anything is written."""
    with pytest.raises(ValueError, match=reason):
        render(tmp_path / "package", answers)

    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize("name", [name for name, _ in DEFAULT_PLUGINS])
def test_nobody_shadows_a_built_in_plugin(name: str, tmp_path: Path) -> None:
    """The template knows the names of all of them."""
    with pytest.raises(ValueError, match="nobody may shadow it"):
        render(tmp_path / "package", {"plugin_name": name})


def test_a_package_can_be_brought_up_to_date(tmp_path: Path) -> None:
    """By `copier update`, where the template is a git repository with tags; changes are kept."""
    template, package = tmp_path / "template", tmp_path / "package"
    shutil.copytree(TEMPLATE, template)
    git(template, "init", "-q")
    commit(template, "v0.1.0")
    copier.run_copy(str(template), package, defaults=True, quiet=True)
    git(package, "init", "-q")
    commit(package, "mine")
    readme = package / "README.md"
    readme.write_text(readme.read_text("utf-8") + "\nMine.\n", "utf-8")
    commit(package, "more")
    ignored = template / "template" / ".gitignore"
    ignored.write_text(ignored.read_text("utf-8") + "new-in-two/\n", "utf-8")
    commit(template, "v0.2.0")

    copier.run_update(package, defaults=True, overwrite=True, quiet=True)

    assert "new-in-two/" in (package / ".gitignore").read_text("utf-8")
    assert readme.read_text("utf-8").endswith("\nMine.\n")
    answers = yaml.safe_load((package / ".copier-answers.yml").read_text("utf-8"))
    assert answers["_commit"] == "v0.2.0"


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S607 - whichever git there is


def commit(folder: Path, tag: str) -> None:
    """Commit everything, and tag it."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", tag)
    git(folder, "tag", tag)
