"""Rows for a person or a program: a table on a terminal, tab-separated lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from everloop.cli.fields import word
from everloop.events import Json, JsonValue


def plain(text: str) -> str:
    """`text` in one line without control characters: it may come from a model, and a terminal would obey it."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text)


def echo(columns: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> None:
    """Print rows; the names of the columns on a terminal only."""
    cells = [[plain(word(flat(cell))) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    _drawn(columns, cells)


def _drawn(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        drawn.add_column(name, overflow="fold")
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(drawn)


def facts(document: Mapping[str, JsonValue]) -> None:
    """Print names and values, one a line."""
    cells = {name: plain(word(flat(value))) for name, value in document.items()}
    if sys.stdout.isatty():
        width = max(map(len, cells), default=0)
        for name, value in cells.items():
            click.echo(f"{name.replace('_', ' '):{width}}  {value}")
        return
    for name, value in cells.items():
        click.echo(f"{name}\t{value}")


def flat(value: JsonValue) -> JsonValue:
    """A list or object in one line of text."""
    if isinstance(value, list):
        return "; ".join(word(flat(one)) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {word(flat(one))}" for name, one in value.items())
    return value


def pick(document: Json, *names: str) -> Json:
    """The named fields that are there, in this order."""
    return {name: document[name] for name in names if name in document}
