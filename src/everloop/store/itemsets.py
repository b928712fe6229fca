"""What has been drawn from each item set of a run, and how often sets were used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_once, make, raise_to
from everloop.store.tables import cursors as cursors_table
from everloop.store.tables import uses as uses_table


@dataclass(frozen=True, slots=True)
class UseRow:
    """One drawn generation of a set."""

    set: str
    """Which set."""
    generation: int
    """1 for the first that was drawn."""
    n: int
    """Items."""
    uses: int
    """Candidates that were compared on it."""
    use_cap: int
    """Uses after which it is retired."""


def cursors(tx: Connection, run: str, set_name: str) -> dict[str, int]:
    """Family -> where its stream goes on; families nothing was drawn from are absent."""
    table = cursors_table
    found = tx.execute(sa.select(table.c.family, table.c.cursor).where(table.c.run == run, table.c.set == set_name))
    return {row.family: row.cursor for row in found}


def advance(tx: Connection, run: str, set_name: str, to: Mapping[str, int]) -> None:
    """Move cursors forward; one that is further already stays, so nothing is ever drawn twice."""
    rows = [{"run": run, "set": set_name, "family": family, "cursor": cursor} for family, cursor in to.items()]
    raise_to(tx, cursors_table, "cursor", rows)


def renew(tx: Connection, run: str, set_name: str, generation: int, n: int, use_cap: int) -> None:
    """Record a newly drawn generation of a set."""
    values = {"run": run, "set": set_name, "generation": generation, "n": n, "uses": 0, "use_cap": use_cap}
    insert_once(tx, uses_table, values)


def use(tx: Connection, run: str, set_name: str, generation: int) -> None:
    """Count one use of a generation."""
    table = uses_table
    where = (table.c.run == run, table.c.set == set_name, table.c.generation == generation)
    tx.execute(sa.update(table).where(*where).values(uses=table.c.uses + 1))


def generations(tx: Connection, run: str, set_name: str) -> int:
    """How many generations of a set were drawn."""
    table = uses_table
    newest = sa.select(sa.func.max(table.c.generation)).where(table.c.run == run, table.c.set == set_name)
    return int(tx.execute(newest).scalar() or 0)


def current_uses(tx: Connection, run: str) -> list[UseRow]:
    """The newest generation of each set."""
    table = uses_table
    newest = (
        sa.select(table.c.set, sa.func.max(table.c.generation).label("generation"))
        .where(table.c.run == run)
        .group_by(table.c.set)
        .subquery()
    )
    both = (table.c.set == newest.c.set) & (table.c.generation == newest.c.generation)
    query = sa.select(table).join(newest, both).where(table.c.run == run)
    return [make(UseRow, found) for found in tx.execute(query).mappings()]
