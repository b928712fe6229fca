"""Candidates: what was proposed, what became of it, on what figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.errors import RunNotFound
from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import candidates
from everloop.values import iso, utcnow

REFUSED = ("rejected", "reverted", "error")
"""Decisions after which a plan is not worth proposing again."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate as the store holds it."""

    candidate: str
    """``r2c1``."""
    round: int
    """Round it was proposed in."""
    decision: str | None
    """``kept certified reverted rejected error``; None while undecided."""
    artifact: Json | None
    """What was built; None when nothing was."""
    proposal: Json
    """Plan, diff, rationale, interventions."""
    fingerprint: str
    """Hash of the plan."""
    reasons: Sequence[str]
    """Why it was refused."""
    screen: Json | None
    """Figures of the screen; None when it was not measured."""
    certification: Json | None
    """Figures of the certification; None when there was none."""
    at: str
    """ISO time of the proposal."""


@dataclass(frozen=True, slots=True)
class TriedRow:
    """What is remembered of a refused candidate."""

    plan: Json
    """Its plan."""
    decision: str
    """One of `REFUSED`."""
    reasons: Sequence[str]
    """Why it was refused."""


def put(tx: Connection, run: str, candidate: str, *, round: int, proposal: Json, fingerprint: str) -> None:  # noqa: A002
    """Record a proposal; nothing changes when it is there."""
    values: dict[str, Any] = {"run": run, "candidate": candidate, "round": round, "proposal": proposal}
    values["plan"] = proposal["plan"]
    values |= {"fingerprint": fingerprint, "reasons": [], "at": iso(utcnow())}
    insert_once(tx, candidates, values)


def update(tx: Connection, run: str, candidate: str, **columns: Any) -> None:
    """Set columns of a candidate."""
    where = (candidates.c.run == run, candidates.c.candidate == candidate)
    tx.execute(sa.update(candidates).where(*where).values(**columns))


def require(tx: Connection, run: str, candidate: str) -> CandidateRow:
    """A candidate; RunNotFound when there is none of that name."""
    query = sa.select(candidates).where(candidates.c.run == run, candidates.c.candidate == candidate)
    found = tx.execute(query).mappings().first()
    if found is None:
        raise RunNotFound(f"run {run} has no candidate {candidate}")
    return make(CandidateRow, found)


def of_round(tx: Connection, run: str, number: int) -> list[CandidateRow]:
    """The candidates of a round, in order."""
    return of_rounds(tx, run, [number])


def of_rounds(tx: Connection, run: str, numbers: Sequence[int]) -> list[CandidateRow]:
    """The candidates of some rounds, in order."""
    query = (
        sa.select(candidates)
        .where(candidates.c.run == run, candidates.c.round.in_(list(numbers)))
        .order_by(candidates.c.round, candidates.c.candidate)
    )
    return [make(CandidateRow, found) for found in tx.execute(query).mappings()]


def tried_since(tx: Connection, run: str, number: int, limit: int = 200) -> list[TriedRow]:
    """Refused candidates from round `number` on, newest first; only what an operator remembers of them."""
    query = (
        sa.select(candidates.c.plan, candidates.c.decision, candidates.c.reasons)
        .where(candidates.c.run == run, candidates.c.round >= number, candidates.c.decision.in_(REFUSED))
        .order_by(candidates.c.round.desc(), candidates.c.candidate.desc())
        .limit(limit)
    )
    return [TriedRow(plan, decision, reasons) for plan, decision, reasons in tx.execute(query)]
