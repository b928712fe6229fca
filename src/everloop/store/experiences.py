"""Experiences of a run, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_new
from everloop.store.tables import experiences


@dataclass(frozen=True, slots=True)
class ExperienceRow:
    """An experience as the store holds it."""

    family: str
    """Task family."""
    goal: str
    """The task."""
    observed: str
    """State that was observed."""
    action: str
    """What the student did."""
    feedback: str
    """The verdict."""
    improvement: str
    """Note of what would mend it."""
    gold: str
    """The right answer."""
    content_hash: str
    """By which duplicates are found."""
    round: int
    """Round it was collected in."""
    born: str
    """Version or candidate it was collected from."""


def put(tx: Connection, run: str, found: Sequence[ExperienceRow]) -> None:
    """Record experiences; those known already are left out."""
    insert_new(tx, experiences, [asdict(one) | {"run": run, "rolled_back": False} for one in found])


def golds(tx: Connection, run: str, goals: Sequence[str]) -> dict[str, str]:
    """Task -> right answer, of those tasks that the run has experiences of."""
    query = sa.select(experiences.c.goal, experiences.c.gold).where(
        experiences.c.run == run, experiences.c.goal.in_(list(goals)), experiences.c.rolled_back.is_(False)
    )
    return {row.goal: row.gold for row in tx.execute(query)}


def recent(tx: Connection, run: str, number: int, limit: int) -> list[ExperienceRow]:
    """Experiences of a round, in the order of collection."""
    names = [experiences.c[name] for name in ExperienceRow.__slots__]
    where = (experiences.c.run == run, experiences.c.round == number, experiences.c.rolled_back.is_(False))
    query = sa.select(*names).where(*where).order_by(experiences.c.id).limit(limit)
    return [ExperienceRow(**found) for found in tx.execute(query).mappings()]
