"""Labels: what people said of changes, for the calibration of the soft score."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import make
from everloop.store.tables import labels
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label as the store holds it."""

    id: int
    """Place in the order of adding."""
    source: str
    """``human`` for a recorded candidate, ``file`` for a change that was imported."""
    change: Json
    """``{"run", "candidate"}``, with a ``reason`` if one was given; or the whole: ``{"proposal", "head_plan"}``."""
    good: bool
    """Whether the change is worth keeping."""
    author: str
    """Who says so."""
    at: str
    """ISO 8601 UTC time."""


def put(tx: Connection, source: str, change: Json, *, good: bool, author: str, at: str | None = None) -> int:
    """Record a label and return its id; labels are only ever added, and of two about one change the later counts.

    `at`: ISO time it was said, if not now.
    """
    values = {"source": source, "change": change, "good": good, "author": author, "at": at or iso(utcnow())}
    return int(tx.execute(sa.insert(labels).values(**values).returning(labels.c.id)).scalar_one())


def find(tx: Connection, source: str, change: Json, *, good: bool, author: str, at: str) -> int | None:
    """The id of the label that somebody gave at just this time; None when it was not recorded."""
    where = (labels.c.source == source, labels.c.author == author, labels.c.at == at, labels.c.good.is_(good))
    found = tx.execute(sa.select(labels.c.id, labels.c.change).where(*where))
    return next((number for number, about in found if about == change), None)


def newest(tx: Connection, limit: int) -> list[LabelRow]:
    """The newest `limit` labels, oldest first."""
    query = sa.select(labels).order_by(labels.c.id.desc()).limit(limit)
    return [make(LabelRow, found) for found in tx.execute(query).mappings()][::-1]
