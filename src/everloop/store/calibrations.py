"""Calibrations of the soft score: each is added beside the earlier ones, the newest is in force."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import make
from everloop.store.tables import calibrations
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A calibration as the store holds it."""

    id: int
    """Place in the order of calibrations."""
    document: Json
    """Fitted parameters and report."""
    at: str
    """ISO 8601 UTC time."""


def put(tx: Connection, document: Json) -> int:
    """Record a calibration and return its id."""
    values = {"document": document, "at": iso(utcnow())}
    return int(tx.execute(sa.insert(calibrations).values(**values).returning(calibrations.c.id)).scalar_one())


def newest(tx: Connection) -> CalibrationRow | None:
    """The calibration in force; None before the first."""
    query = sa.select(calibrations).order_by(calibrations.c.id.desc()).limit(1)
    found = tx.execute(query).mappings().first()
    return None if found is None else make(CalibrationRow, found)
