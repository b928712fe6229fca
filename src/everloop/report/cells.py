"""Tables behind pictures, with their cells written out."""

from __future__ import annotations

from math import isfinite

from everloop.fields import MISSING
from everloop.pictures import Cell, Column, Picture
from everloop.report import blocks
from everloop.report.texts import line, moment


def tabled(picture: Picture) -> blocks.Table:
    """The table behind a picture."""
    columns = [blocks.Column(one.title, bool(one.form)) for one in picture.columns]
    rows = [
        [_written(value, column) for value, column in zip(row, picture.columns, strict=True)] for row in picture.rows
    ]
    return blocks.Table(picture.title, columns, rows, folded=True)


def _written(value: Cell, column: Column) -> str:
    """A value in its column's format; "—" for what was not measured."""
    if column.time:
        return moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not isfinite(value):
            return MISSING
        return format(value, column.form) if column.form else f"{value}"
    return line(value)
