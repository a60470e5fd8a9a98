"""The pages of docs/, taken apart: fenced blocks with their marks, links, code spans, headings.

A block is marked by a comment in the line above it:

``<!-- run -->``             commands, typed one after another in one shell for each page
``<!-- run: checkout -->``   the same, begun in the folder of this repository
``<!-- file: PATH -->``      a file that the reader writes
``<!-- output -->``          what the commands before it print; each line must occur, ``...`` may be more
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["DOCS", "ROOT", "Block", "blocks", "headings", "links", "page_id", "pages", "spans"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>run|file|output)(?:: (?P<argument>[^>]+?))? -->\n)?"
    r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block; `mark` and `argument` are empty where it has none."""

    mark: str
    argument: str
    language: str
    text: str


def pages() -> list[Path]:
    """Return all pages, and the README; changelog fragments are no pages."""
    fragments = DOCS / "changelog.d"
    return [
        ROOT / "README.md",
        *(page for page in sorted(DOCS.rglob("*.md")) if fragments not in page.parents),
    ]


def page_id(page: Path) -> str:
    """Name a page in the output of tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(
            found["mark"] or "", (found["argument"] or "").strip(), found["language"], found["text"]
        )
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def headings(page: Path) -> list[str]:
    """Return the texts of all headings."""
    return re.findall(r"^#+ (.+)$", _prose(page), flags=re.MULTILINE)


def links(page: Path) -> list[str]:
    """Return the targets of all links."""
    return re.findall(r"\]\(([^)\s]+)\)", _prose(page))


def spans(page: Path) -> list[str]:
    """Return all that stands in backquotes, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", _prose(page))


def _prose(page: Path) -> str:
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))
