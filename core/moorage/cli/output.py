"""Tables for people, documents for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click
import yaml
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table

__all__ = ["notice", "print_document", "print_renderable", "table"]

_UNBOUNDED: Final = 10_000
"""Columns of a line that nobody folds: outside a terminal, lines are for grep."""
_GAP: Final = 3
_NARROWEST_LAST: Final = 40
"""The last column is folded to no fewer columns than this, however wide the others are."""


def table(columns: Sequence[str], rows: Iterable[Sequence[RenderableType]]) -> Table:
    """Lay rows out as kubectl does: no lines, headings in capitals."""
    laid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        last = column == columns[-1]
        laid.add_column(column, overflow="fold", no_wrap=not last)
    for row in rows:
        laid.add_row(*row)
    return laid


def print_renderable(*renderables: RenderableType) -> None:
    """Print to stdout, in colour and folded to its width on a terminal, bare text elsewhere.

    Only the last column of a table is folded: names stay whole, to be copied.
    """
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNBOUNDED
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=_UNBOUNDED)
    with console.capture() as captured:
        for renderable in renderables:
            console.print(renderable, width=max(terminal, _least_width(renderable)))
    # rich fills every line with blanks up to the width of the table.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _least_width(renderable: RenderableType) -> int:
    if not isinstance(renderable, Table):
        return 0
    widths = [
        max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        for column in renderable.columns
    ]
    return sum(width + _GAP for width in widths[:-1]) + min(widths[-1], _NARROWEST_LAST)


def print_document(document: Any, output: str) -> None:  # noqa: ANN401 - anything JSON has
    """Print what JSON can hold, as ``json`` or ``yaml``."""
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def notice(sentence: str) -> None:
    """Tell the user something worth knowing that stops nothing; on stderr."""
    click.echo(f"Notice: {sentence}", err=True)
