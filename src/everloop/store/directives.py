"""Directives: standing owner instructions."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import directives
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class DirectiveRow:
    """A directive as the store holds it."""

    text: str
    """The instruction."""
    author: str
    """Who gave it."""
    at: str
    """ISO time."""


def append(tx: Connection, run: str, text: str, author: str) -> DirectiveRow:
    """Add a directive."""
    values = {"run": run, "text": text, "author": author, "at": iso(utcnow())}
    found = tx.execute(sa.insert(directives).values(**values).returning(*directives.c)).mappings().one()
    return make(DirectiveRow, found)


def listing(tx: Connection, run: str) -> list[DirectiveRow]:
    """All directives of a run, oldest first."""
    query = sa.select(directives).where(directives.c.run == run).order_by(directives.c.id)
    return [make(DirectiveRow, found) for found in tx.execute(query).mappings()]
