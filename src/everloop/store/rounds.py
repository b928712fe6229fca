"""Rounds of a run: decision, summary, spend."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import rounds
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round as the store holds it."""

    round: int
    """Number, from 1."""
    decision: str | None
    """``kept certified reverted rejected error``; None while it is under way."""
    summary: str | None
    """What came of it, in a sentence."""
    version: str | None
    """Version it certified; None otherwise."""
    plan: str | None
    """What was planned, in a sentence."""
    spend: Json | None
    """What the round spent; None while it is under way."""
    started_at: str
    """ISO time."""
    ended_at: str | None
    """ISO time."""


def begin(tx: Connection, run: str, number: int) -> None:
    """Record that a round begins; nothing changes when it has."""
    insert_once(tx, rounds, {"run": run, "round": number, "started_at": iso(utcnow())})


def finish(
    tx: Connection, run: str, number: int, *, decision: str, summary: str, version: str | None, plan: str, spend: Json
) -> None:
    """Record how a round ended."""
    values = {"decision": decision, "summary": summary, "version": version, "plan": plan, "spend": spend}
    where = (rounds.c.run == run, rounds.c.round == number)
    tx.execute(sa.update(rounds).where(*where).values(ended_at=iso(utcnow()), **values))


def get(tx: Connection, run: str, number: int) -> RoundRow | None:
    """A round; None when it has not begun."""
    query = sa.select(rounds).where(rounds.c.run == run, rounds.c.round == number)
    found = tx.execute(query).mappings().first()
    return make(RoundRow, found) if found else None


def newest(tx: Connection, run: str, limit: int = 50, *, last: int | None = None) -> list[RoundRow]:
    """The newest `limit` rounds, oldest first; `last`: those up to this one."""
    query = sa.select(rounds).where(rounds.c.run == run).order_by(rounds.c.round.desc()).limit(limit)
    if last is not None:
        query = query.where(rounds.c.round <= last)
    return [make(RoundRow, found) for found in reversed(tx.execute(query).mappings().all())]


def before(tx: Connection, run: str, number: int, limit: int) -> list[RoundRow]:
    """At most `limit` finished rounds before round `number`, newest first."""
    where = (rounds.c.run == run, rounds.c.round < number, rounds.c.decision.is_not(None))
    query = sa.select(rounds).where(*where).order_by(rounds.c.round.desc()).limit(limit)
    return [make(RoundRow, found) for found in tx.execute(query).mappings()]


def total(tx: Connection, run: str) -> int:
    """How many rounds have begun."""
    return int(tx.execute(sa.select(sa.func.max(rounds.c.round)).where(rounds.c.run == run)).scalar() or 0)
