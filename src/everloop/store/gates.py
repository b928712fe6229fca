"""Records of gates: certifications and final gates; a later one never replaces an earlier one."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import gates


@dataclass(frozen=True, slots=True)
class GateRow:
    """A record as the store holds it."""

    occasion: str
    """``certification-r2c1``, ``final-g1``."""
    ordinal: int
    """Place in the run, from 1."""
    document: Json
    """The row of the run document."""


def put(tx: Connection, run: str, occasion: str, document: Json) -> None:
    """Record a gate; nothing changes when the occasion is there."""
    last = tx.execute(sa.select(sa.func.max(gates.c.ordinal)).where(gates.c.run == run)).scalar() or 0
    insert_once(tx, gates, {"run": run, "occasion": occasion, "ordinal": last + 1, "document": document})


def finals(tx: Connection, run: str) -> int:
    """How many final gates have been held."""
    held = (gates.c.run == run, gates.c.occasion.startswith("final-"))
    return int(tx.execute(sa.select(sa.func.count()).select_from(gates).where(*held)).scalar_one())


def listing(tx: Connection, run: str) -> list[GateRow]:
    """All records of a run, oldest first."""
    query = sa.select(gates).where(gates.c.run == run).order_by(gates.c.ordinal)
    return [make(GateRow, found) for found in tx.execute(query).mappings()]
