"""Steers: messages to the running operator and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import steers
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class SteerRow:
    """A steer as the store holds it."""

    id: int
    """Number."""
    text: str
    """The message."""
    author: str
    """Who sent it."""
    status: str
    """``queued``, ``delivered`` or ``dropped``."""
    round: int | None
    """Round that it was delivered to."""
    at: str
    """ISO time it was sent."""
    delivered_at: str | None
    """ISO time it was delivered."""


# Built once: it is asked for at every poll.
_LISTING = (
    sa.select(steers)
    .where(steers.c.run == sa.bindparam("of"))
    .order_by(steers.c.id.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)


def queue(tx: Connection, run: str, text: str, author: str, at: str | None = None) -> SteerRow:
    """Add a steer to be delivered at the next turn boundary; `at`: ISO time it was sent, if not now."""
    values = {"run": run, "text": text, "author": author, "status": "queued", "at": at or iso(utcnow())}
    found = tx.execute(sa.insert(steers).values(**values).returning(*steers.c)).mappings().one()
    return make(SteerRow, found)


def find(tx: Connection, run: str, text: str, author: str, at: str) -> SteerRow | None:
    """The steer that somebody sent at just this time; None when it was not recorded."""
    where = (steers.c.run == run, steers.c.at == at, steers.c.author == author, steers.c.text == text)
    found = tx.execute(sa.select(steers).where(*where)).mappings().first()
    return make(SteerRow, found) if found else None


def mark_delivered(tx: Connection, run: str, ids: Sequence[int], number: int) -> None:
    """Mark queued steers as delivered to a round."""
    where = (steers.c.run == run, steers.c.id.in_(list(ids)), steers.c.status == "queued")
    tx.execute(sa.update(steers).where(*where).values(status="delivered", round=number, delivered_at=iso(utcnow())))


def requeue(tx: Connection, run: str, ids: Sequence[int]) -> None:
    """Let delivered steers wait again: what they were delivered to was given up."""
    where = (steers.c.run == run, steers.c.id.in_(list(ids)), steers.c.status == "delivered")
    tx.execute(sa.update(steers).where(*where).values(status="queued", round=None, delivered_at=None))


def drop(tx: Connection, run: str) -> None:
    """Drop what is still queued: the run has ended."""
    where = (steers.c.run == run, steers.c.status == "queued")
    tx.execute(sa.update(steers).where(*where).values(status="dropped"))


def listing(tx: Connection, run: str, limit: int = 100) -> list[SteerRow]:
    """The newest `limit` steers, oldest first."""
    found = tx.execute(_LISTING, {"of": run, "most": limit}).mappings().all()
    return [make(SteerRow, one) for one in reversed(found)]


def queued(tx: Connection, run: str) -> list[SteerRow]:
    """What waits for the next turn boundary, oldest first."""
    query = sa.select(steers).where(steers.c.run == run, steers.c.status == "queued").order_by(steers.c.id)
    return [make(SteerRow, found) for found in tx.execute(query).mappings()]
