"""Training rows of a run: made once, written as JSON lines, named by what they are for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress

from everloop.errors import StorageFull
from everloop.loop.context import Context
from everloop.students.base import Row


def write(context: Context, name: str, rows: Sequence[Row]) -> str:
    """Write ``rows/NAME.jsonl`` whole or not at all; returns its path relative to the run's folder."""
    relative = f"rows/{name}.jsonl"
    path = context.paths.root / relative
    text = "".join(_line(row) for row in rows)
    partial = path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        why = error.strerror or str(error)
        raise StorageFull(f"{relative} could not be written", why=why, then="Free some room, then resume") from error
    return relative


def read(context: Context, relative: str) -> list[Row]:
    """The rows of a file."""
    with (context.paths.root / relative).open() as lines:
        return [Row(**json.loads(line)) for line in lines]


def newest(before: Sequence[Row], fresh: Sequence[Row], most: int) -> list[Row]:
    """Old rows and new ones, each prompt once (the newest completion stands), the newest `most` of each family.

    A run's memory of rows is bounded by it, so that no round reads all that went before.
    """
    by_prompt = {row.prompt: row for row in before}
    for row in fresh:
        by_prompt.pop(row.prompt, None)
        by_prompt[row.prompt] = row
    taken: dict[str, int] = {}
    kept: list[Row] = []
    for row in reversed(by_prompt.values()):
        taken[row.family] = taken.get(row.family, 0) + 1
        if taken[row.family] <= most:
            kept.append(row)
    return kept[::-1]


def weighted(rows: Sequence[Row], share: float) -> list[Row]:
    """The rows with weights that sum to `share`, so that a batch draws that share of itself from them."""
    weight = share / len(rows)
    return [Row(row.family, row.prompt, row.completion, weight) for row in rows]


def _line(row: Row) -> str:
    # fields by hand: `asdict` takes five times as long, and a round writes every row it knows
    document = {"family": row.family, "prompt": row.prompt, "completion": row.completion, "weight": row.weight}
    return json.dumps(document) + "\n"
