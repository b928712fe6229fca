"""The journal of phases: the first result of each stands."""

from __future__ import annotations

from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once
from everloop.store.tables import phases


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


def add(tx: Connection, run: str, round: int, phase: str, candidate: str, result: Json) -> bool:  # noqa: A002
    """Record a result; False, and nothing changed, when there is an earlier one."""
    values = {"run": run, "round": round, "phase": phase, "candidate": candidate, "result": result}
    return insert_once(tx, phases, values)
