"""Tables for people, documents for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
import yaml
from rich.console import Console, RenderableType
from rich.table import Table

__all__ = ["notice", "print_document", "print_renderable", "table"]

_PIPE_WIDTH = 10_000
"""Columns outside a terminal, where lines are for grep and must not be folded."""


def table(columns: Sequence[str], rows: Iterable[Sequence[RenderableType]]) -> Table:
    """Lay rows out as kubectl does: no lines, headings in capitals."""
    laid = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        last = column == columns[-1]
        laid.add_column(column, overflow="fold", no_wrap=not last)
    for row in rows:
        laid.add_row(*row)
    return laid


def print_renderable(*renderables: RenderableType) -> None:
    """Print to stdout, in colour and folded to its width on a terminal, bare text elsewhere."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if terminal else _PIPE_WIDTH,
    )
    with console.capture() as captured:
        for renderable in renderables:
            console.print(renderable)
    # rich fills every line with blanks up to the width of the table.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_document(document: Any, output: str) -> None:  # noqa: ANN401 - anything JSON has
    """Print what JSON can hold, as ``json`` or ``yaml``."""
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def notice(sentence: str) -> None:
    """Tell the user something worth knowing that stops nothing; on stderr."""
    click.echo(f"Notice: {sentence}", err=True)
