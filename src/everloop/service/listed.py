"""The rows of the list of runs. One that cannot be read is told as such, and does not take the others with it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from everloop.errors import RunUnreadable
from everloop.events import Json
from everloop.service import unreadable
from everloop.service.document import summary_rows
from everloop.store import runs
from everloop.store.runs import Wanted


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the list, and where it stands."""

    run: str
    """Run id."""
    updated_at: str
    """ISO time."""
    told: Json
    """The summary row."""


def listed(tx: Connection, wanted: Wanted) -> list[Listed]:
    """The rows that are wanted; two statements, unless one of them cannot be read."""
    try:
        rows = runs.listing(tx, wanted)
        told = summary_rows(tx, rows)
    except unreadable.FAULTS:
        return [_alone(tx, run, updated_at) for run, updated_at in runs.places(tx, wanted)]
    return [Listed(row.run, row.updated_at, told[row.run]) for row in rows]


def _alone(tx: Connection, run: str, updated_at: str) -> Listed:
    try:
        with unreadable.refused(run):
            return Listed(run, updated_at, summary_rows(tx, [runs.summary(tx, run)])[run])
    except RunUnreadable as error:
        return Listed(run, updated_at, unreadable.summary(run, error, updated_at))
