"""Configured models: one row a model, in the order in which they were added. A row never holds a key."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.errors import ModelNotConfigured
from everloop.events import Json
from everloop.store._sql import make, upsert
from everloop.store.tables import models
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A configured model as the store holds it."""

    name: str
    """Its name in this installation."""
    ordinal: int
    """Place in the order of adding, from 1; kept when the model is updated."""
    document: Json
    """The entry as JSON, without a key."""
    at: str
    """ISO 8601 UTC time of the last change."""


def put(tx: Connection, name: str, document: Json) -> bool:
    """Add a model, or replace one in its place; True when it is new."""
    found = get(tx, name)
    last = tx.execute(sa.select(sa.func.max(models.c.ordinal))).scalar() or 0
    ordinal = last + 1 if found is None else found.ordinal
    upsert(tx, models, {"name": name, "ordinal": ordinal, "document": document, "at": iso(utcnow())})
    return found is None


def get(tx: Connection, name: str) -> ModelRow | None:
    """The model of that name."""
    found = tx.execute(sa.select(models).where(models.c.name == name)).mappings().first()
    return None if found is None else make(ModelRow, found)


def require(tx: Connection, name: str) -> ModelRow:
    """The model of that name; ModelNotConfigured tells which there are."""
    found = get(tx, name)
    if found is None:
        names = ", ".join(row.name for row in listing(tx))
        why = f"configured are: {names}" if names else "no model is configured"
        raise ModelNotConfigured(f"there is no model {name!r}", why=why, then="Add it with `el model add`")
    return found


def listing(tx: Connection) -> list[ModelRow]:
    """All models, first added first."""
    query = sa.select(models).order_by(models.c.ordinal, models.c.name)
    return [make(ModelRow, found) for found in tx.execute(query).mappings()]


def remove(tx: Connection, name: str) -> bool:
    """Forget a model; True when it was there."""
    return bool(tx.execute(sa.delete(models).where(models.c.name == name)).rowcount)
