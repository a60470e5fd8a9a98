"""The template rendered, and what comes out put where Python finds it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import copier

__all__ = [
    "POINTS",
    "ROOT",
    "TEMPLATE",
    "Combination",
    "check_types",
    "combinations_of_all",
    "lint",
    "render",
    "render_all",
    "run_tests",
]

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "plugin_template"
POINTS = (
    "pre_enqueue",
    "queue_sort",
    "filter",
    "post_filter",
    "score",
    "reserve",
    "permit",
    "pre_bind",
    "bind",
    "post_bind",
)


class Combination(NamedTuple):
    """Answers to the questions that decide what is written."""

    points: tuple[str, ...]
    form: str = "array"
    arguments: bool = True


def combinations_of_all() -> list[Combination]:
    """Return each point alone, each pair and all, in both forms, with and without arguments.

    The parts of the template that belong to a point know of no others but by pairs.
    """
    chosen = [(point,) for point in POINTS] + list(combinations(POINTS, 2)) + [POINTS]
    return [Combination(*each) for each in product(chosen, ("array", "per_node"), (True, False))]


def render(folder: Path, answers: Mapping[str, Any]) -> None:
    """Render the template with some answers and defaults for the others."""
    copier.run_copy(str(TEMPLATE), folder, data=dict(answers), defaults=True, quiet=True)


def render_all(folder: Path, wanted: Iterable[Combination]) -> list[Path]:
    """Render combinations, each as a package of its own; every other one with the longest names."""
    packages = []
    for number, combination in enumerate(wanted):
        name, distribution = f"Plugin{number}x", f"my-plugin{number}x"
        if number % 2:
            name, distribution = name.ljust(36, "Y"), distribution.ljust(44, "z")
        package = folder / distribution
        render(
            package,
            {
                "plugin_name": name,
                "distribution": distribution,
                "points": list(combination.points),
                "form": combination.form,
                "arguments": combination.arguments,
                "licence": "MIT" if number % 3 else "Apache-2.0",
            },
        )
        packages.append(package)
    return packages


def lint(folder: Path) -> str:
    """Check everything below a folder with ruff, by the rules of each package; return complaints."""
    found = ""
    for what in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *what, "--no-cache", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        found += done.stdout if done.returncode else ""
    return found


def check_types(package: Path) -> str:
    """Check a package with mypy, as strictly as it can; return complaints."""
    cache = package.parent / ".mypy_cache"
    options = ["--strict", "--no-error-summary", "--cache-dir", str(cache)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "src", "tests"],
        capture_output=True,
        text=True,
        check=False,
        cwd=package,
        env={**os.environ, "MYPYPATH": "src"},
    )
    return done.stdout + done.stderr


def run_tests(packages: Iterable[Path], site: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of packages as if they were installed in `site`, in one run of pytest."""
    site.mkdir()
    tests = []
    for package in packages:
        project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
        module = project["name"].replace("-", "_")
        info = site / f"{module}-{project['version']}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", "Version: 0.1.0"]
        lines += [f"Requires-Dist: {wanted}" for wanted in project["dependencies"]]
        (info / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
        points = project["entry-points"]["moorage.plugins"]
        text = "\n".join(["[moorage.plugins]", *(f"{key} = {points[key]}" for key in points), ""])
        (info / "entry_points.txt").write_text(text, "utf-8")
        (site / module).symlink_to(package / "src" / module)
        tests.append(str(package / "tests"))
    options = ["-q", "-p", "no:asyncio", "-p", "no:cacheprovider", "-W", "error"]
    alone = ["-c", os.devnull, "--rootdir", str(site.parent), "--import-mode=importlib"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *alone, *options, *tests],
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
