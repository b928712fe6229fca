"""Reading training rows."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from everloop.errors import InvalidRequest
from everloop.students.base import Row


def read_rows(path: Path) -> list[Row]:
    """The rows of a JSON-lines file, in order. InvalidRequest, with the line, for what is no row."""
    with path.open(encoding="utf-8") as lines:
        rows = [_row(path, number, line) for number, line in enumerate(lines, 1)]
    if not rows:
        raise InvalidRequest(f"{path.name} holds no row", why="a training needs at least one")
    return rows


def _row(path: Path, number: int, line: str) -> Row:
    try:
        row = Row(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"{path.name} line {number} is no row", why=str(error)) from error
    texts = all(isinstance(text, str) for text in (row.family, row.prompt, row.completion))
    if not texts or type(row.weight) not in (int, float) or not isfinite(row.weight) or row.weight <= 0:
        raise InvalidRequest(
            f"{path.name} line {number} is no row", why="it needs family, prompt, completion as text and weight > 0"
        )
    return row
