"""The journal of phases: the first result of each stands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import phases
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """When a phase was done."""

    round: int
    """Its round; 0 for what belongs to none."""
    phase: str
    """Its name."""
    candidate: str
    """Candidate, or another key that tells it from its like; empty without one."""
    started_at: str | None
    """ISO time at which it was begun for the last time; None when that was not kept."""
    at: str
    """ISO time at which its result was written."""


def get(tx: Connection, run: str, round: int, phase: str, candidate: str = "") -> Json | None:  # noqa: A002
    """The result of a phase; None when it has not been done."""
    found = tx.execute(
        sa.select(phases.c.result).where(
            phases.c.run == run, phases.c.round == round, phases.c.phase == phase, phases.c.candidate == candidate
        )
    ).scalar()
    return cast(Json | None, found)


def results(tx: Connection, run: str, phase: str, first: int) -> list[tuple[str, Json]]:
    """(candidate, result) of one phase from round `first` on."""
    where = (phases.c.run == run, phases.c.round >= first, phases.c.phase == phase)
    return [
        (candidate, result)
        for candidate, result in tx.execute(sa.select(phases.c.candidate, phases.c.result).where(*where))
    ]


def add(
    tx: Connection,
    run: str,
    round: int,  # noqa: A002
    phase: str,
    candidate: str,
    result: Json,
    *,
    started_at: str | None = None,
) -> bool:
    """Record a result, as of now; False, and nothing changed, when there is an earlier one."""
    values = {"run": run, "round": round, "phase": phase, "candidate": candidate, "result": result}
    return insert_once(tx, phases, values | {"started_at": started_at, "at": iso(utcnow())})


def opened(tx: Connection, run: str, first: int) -> dict[int, Json]:
    """What the run had spent when each round from `first` on was opened, by round."""
    where = (phases.c.run == run, phases.c.round >= first, phases.c.phase == "open")
    found = tx.execute(sa.select(phases.c.round, phases.c.result).where(*where))
    return {number: cast(Json, result["spend"]) for number, result in found if result.get("spend")}


def timed(tx: Connection, run: str, first: int) -> list[PhaseRow]:
    """The phases from round `first` on in the order in which they ended; not those of before times were kept."""
    columns = (phases.c[field.name] for field in fields(PhaseRow))
    where = (phases.c.run == run, phases.c.round >= first, phases.c.at.is_not(None))
    query = sa.select(*columns).where(*where).order_by(phases.c.at)
    return [make(PhaseRow, found) for found in tx.execute(query).mappings()]
