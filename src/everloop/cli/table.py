"""Rows for a person or a program: a table on a terminal, tab-separated lines elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

import click

from everloop.events import Json, JsonValue
from everloop.fields import line, word

WRAPPED = frozenset({"REASON", "REASONS", "SUMMARY", "TEXT", "WHAT", "WHY", "EXPECTED", "RISK", "NAME", "MAY", "USES"})
"""Columns of words: these alone are broken into lines. An id, a path or a figure never is: it would be copied wrong."""
LEAST = 12
"""Characters that a column of words keeps."""
DROPPED = (
    "ADDRESS",
    "PRICE",
    "SURFACE",
    "PROVIDER",
    "BASE MODEL",
    "TYPE",
    "FINISHED",
    "CREATED",
    "USED",
    "UNTIL",
    "BEST",
    "UPDATED",
)
"""Columns that a narrow terminal does without, first the one that is missed least; all of them are in the JSON."""
GAP = 3
"""Characters that the box puts between columns."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z")

plain = line
"""A text in one line without control characters: it may come from a model, and a terminal would obey it."""


def echo(columns: Sequence[str], rows: Sequence[Sequence[JsonValue]], none: str = "") -> None:
    """Print rows; the names of the columns on a terminal only. Of no rows, `none` on standard error and no more."""
    cells = [[plain(word(flat(cell))) for cell in row] for row in rows]
    if not cells:
        if none:
            click.echo(none, err=True)
    elif sys.stdout.isatty():
        _drawn(columns, [[_short(cell) for cell in row] for row in cells])
    else:
        for row in cells:
            click.echo("\t".join(row))


def _short(cell: str) -> str:
    """A time to the second."""
    return _TIME.sub(r"\1Z", cell)


def fitting(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> tuple[list[int], int]:
    """The columns that a terminal of so many characters shows, and the characters that those need."""
    widest = [_widest(name, place, cells) for place, name in enumerate(columns)]
    least = [min(one, LEAST) if name in WRAPPED else one for one, name in zip(widest, columns, strict=True)]
    shown = [*range(len(columns))]

    def needed() -> int:
        wide: int = sum(least[place] for place in shown)
        return wide + GAP * (len(shown) - 1)

    for name in DROPPED:
        if needed() <= width:
            break
        shown = [place for place in shown if columns[place] != name]
    return shown, needed()


def _drawn(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    shown, needed = fitting(columns, cells, console.width)
    # rich would cut what is wider than the terminal; the terminal itself breaks a line without losing any of it
    console.width = max(console.width, needed)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place in shown:
        name = columns[place]
        whole = None if name in WRAPPED else _widest(name, place, cells)
        drawn.add_column(name, overflow="fold", no_wrap=name not in WRAPPED, min_width=whole)
    for row in cells:
        drawn.add_row(*(Text(row[place]) for place in shown))
    console.print(drawn)


def _widest(name: str, place: int, cells: Sequence[Sequence[str]]) -> int:
    """Characters of the widest cell of a column."""
    from rich.cells import cell_len

    return max(int(cell_len(cell)) for cell in [name, *(row[place] for row in cells)])


def facts(document: Mapping[str, JsonValue]) -> None:
    """Print names and values, one a line."""
    cells = {name: plain(word(flat(value))) for name, value in document.items()}
    if sys.stdout.isatty():
        width = max(map(len, cells), default=0)
        for name, value in cells.items():
            click.echo(f"{name.replace('_', ' '):{width}}  {_short(value)}")
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
