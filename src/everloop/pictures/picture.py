"""A picture: SVG, the table behind it, and what it shows in words."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from everloop.fields import figure, word

Cell = str | int | float | None
"""A value of the table behind a picture; None: not measured."""
LEVEL = "95 %"
"""Level of every interval, as it is written."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table behind a picture."""

    title: str
    """Heading, in the reader's language."""
    form: str = ""
    """How a number is written, such as ``.3f``; empty: as text."""
    time: bool = False
    """Whether its cells are times, ISO 8601 in UTC as the record has them: a page tells them in the reader's zone."""

    def text(self, cell: Cell) -> str:
        """A cell of this column as text; "—" when it is missing."""
        if self.form and isinstance(cell, int | float):
            return figure(float(cell), self.form)
        return word(cell)


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of a run."""

    name: str
    """Short name, for addresses and ids: ``scores``, ``evidence``, ``families``, ``spend``, ``timeline``."""
    title: str
    """Heading, in the reader's language."""
    told: str
    """What it shows in words, for who does not see it; says so when there is nothing to draw."""
    svg: str
    """The SVG element for a page, coloured by the page's custom properties; empty when there is nothing to draw."""
    columns: Sequence[Column]
    """Columns of the table behind it."""
    rows: Sequence[Sequence[Cell]]
    """Rows of the table behind it, values as they are stored."""
    caption: str = ""
    """What to see in it, in a sentence or two under the heading; empty when there is nothing to draw."""
    run: str = ""
    """The run it is of."""

    def csv(self) -> str:
        """The table as CSV with a heading; a text that a spreadsheet would take for a formula gets an apostrophe."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(_plain(column.title) for column in self.columns)
        writer.writerows([_plain(cell) for cell in row] for row in self.rows)
        return written.getvalue()


def _plain(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
