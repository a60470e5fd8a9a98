"""What the pages point at is there, and what they count is right."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.docs.doc_pages import DOCS, ROOT, headings, links, page_id, pages, spans

FOLDERS = tuple(
    f"{path.name}/" for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROUNDING = 0.4
"""How far a rounded number of lines may be off before somebody should look again."""


def anchor(heading: str) -> str:
    """Return the fragment by which a heading is linked, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", pages(), ids=page_id)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """To a file of this repository, and to a heading in it where it names one."""
    for link in links(page):
        if "://" in link:
            continue
        target, _, fragment = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), link
        assert found.is_relative_to(ROOT), link
        if fragment:
            assert fragment in map(anchor, headings(found)), link


@pytest.mark.parametrize("page", pages(), ids=page_id)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    """Paths from the top folder, in backquotes; a word with a slash is none."""
    named = [span for span in spans(page) if span.startswith(FOLDERS) and " " not in span]

    assert [path for path in named if not list(ROOT.glob(path.rstrip("/")))] == []


def test_every_page_is_reached_from_the_index() -> None:
    """A page that nobody links to is not read."""
    reached: set[Path] = set()
    left = [DOCS / "index.md"]
    while left:
        page = left.pop()
        if page not in reached and page.suffix == ".md" and page.is_file():
            reached.add(page)
            left += [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]

    assert [page_id(page) for page in pages() if page not in reached] == []


def test_every_dependency_has_its_reason() -> None:
    """With the least version, in the page about dependencies; and none is listed that is gone."""
    page = (DOCS / "explanation/decisions/0001-dependencies.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| [\d.]+ \| .+ \|$", page, re.MULTILINE))
    extras = PROJECT["optional-dependencies"].values()
    wanted = {one for group in (PROJECT["dependencies"], *extras) for one in group if ">=" in one}

    assert listed == dict(one.split(">=") for one in sorted(wanted))


def packages() -> list[Path]:
    """Return the folders that the onboarding page counts: packages of the host, and the plugins."""
    host = ROOT / "core" / "moorage"
    return [
        *(path for path in sorted(host.iterdir()) if (path / "__init__.py").is_file()),
        ROOT / "builtin_plugins" / "moorage_builtin",
    ]


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: str(folder.name))
def test_the_onboarding_page_knows_how_large_a_package_is(folder: Path) -> None:
    """Roughly: a number that is far off misleads, one that is exact is wrong tomorrow."""
    page = (DOCS / "explanation" / "onboarding.md").read_text(encoding="utf-8")
    name = re.escape(str(folder.relative_to(ROOT)))
    row = re.search(rf"^\| \[{name}\]\([^)]+\) \| ([\d,]+) \| .+ \|$", page, re.MULTILINE)
    assert row, f"{folder.relative_to(ROOT)} is not in the tree"
    said = int(row[1].replace(",", ""))
    lines = sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))

    assert abs(said - lines) <= max(300, ROUNDING * lines), f"write {round(lines, -2)}"


def test_the_changelog_can_be_built_from_its_fragments() -> None:
    """Every fragment has an issue and a kind that towncrier knows."""
    kinds = {"feature", "bugfix", "doc", "removal", "misc"}
    fragments = [path for path in (DOCS / "changelog.d").iterdir() if path.suffix == ".md"]

    assert fragments
    assert [path.name for path in fragments if path.name.split(".")[1] not in kinds] == []
    built = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "0.0.0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "## 0.0.0" in built.stdout
