"""Histories of verdicts across runs: what was proposed in a run, in order, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import make
from everloop.store.tables import candidates, gates, runs

ENDED = ("finished", "failed", "stopped")
"""States in which nothing is going to be reverted any more."""
_OCCASION = "certification-"


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A candidate and its decision."""

    candidate: str
    """``r2c1``."""
    round: int
    """Round it was proposed in."""
    decision: str | None
    """``kept certified reverted rejected error``; None while undecided."""
    proposal: Json
    """Plan, diff, rationale, interventions."""
    reasons: Sequence[str]
    """Why it was refused."""
    at: str
    """ISO 8601 UTC time of the proposal."""


@dataclass(frozen=True, slots=True)
class History:
    """The candidates of one run, oldest first."""

    run: str
    """Run id."""
    ended: bool
    """Whether the run has ended."""
    base_plan: Json | None
    """The plan that made v0; None for a base that was trained."""
    candidates: Sequence[VerdictRow]
    """Its candidates, oldest first."""
    certifications: Mapping[str, bool]
    """Candidate that was certified as head of the line -> whether that was shown."""


def histories(tx: Connection, limit: int) -> list[History]:
    """The histories of the newest runs, newest run first, with at most `limit` candidates together.

    A history that does not fit is cut at its end, never at its beginning: a later candidate cannot be read without the
    earlier ones.
    """
    query = sa.select(runs.c.run, runs.c.state, runs.c.lines).order_by(runs.c.updated_at.desc(), runs.c.run.desc())
    found: list[History] = []
    for run, state, lines in tx.execute(query.limit(limit)).all():
        if limit <= 0:
            break
        rows = of_run(tx, run, limit)
        limit -= len(rows)
        base = cast(Json, lines["base"]).get("plan") if lines else None
        found.append(History(run, state in ENDED, cast(Json | None, base), rows, _certifications(tx, run)))
    return found


def of_run(tx: Connection, run: str, limit: int) -> list[VerdictRow]:
    """The first `limit` candidates of a run, oldest first."""
    query = sa.select(candidates).where(candidates.c.run == run).order_by(candidates.c.round).limit(limit)
    rows = [make(VerdictRow, found) for found in tx.execute(query).mappings()]
    return sorted(rows, key=lambda row: (row.round, len(row.candidate), row.candidate))


def _certifications(tx: Connection, run: str) -> dict[str, bool]:
    query = sa.select(gates.c.occasion, gates.c.document).where(gates.c.run == run).order_by(gates.c.ordinal)
    return {
        occasion.removeprefix(_OCCASION): bool(document["passed"])
        for occasion, document in tx.execute(query)
        if occasion.startswith(_OCCASION)
    }
