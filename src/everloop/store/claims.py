"""Claims: what a run says it has shown, and what it could not show."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_once, make
from everloop.store.tables import claims
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim as the store holds it."""

    claim: str
    """``certified``, ``beats_base`` or ``beats_control``."""
    candidate: str
    """Who is claimed to be better."""
    against: str
    """Than whom."""
    occasion: str
    """Which certification or final gate tested it."""
    alpha: float | None
    """Error level of the test; None for a policy without one."""
    outcome: str
    """``shown`` or ``not_shown``."""
    at: str
    """ISO time."""


def put(
    tx: Connection,
    run: str,
    claim: str,
    candidate: str,
    against: str,
    *,
    occasion: str,
    alpha: float | None,
    outcome: str,
) -> None:
    """Record the outcome of a claim's test; the first of an occasion stands."""
    values = {"run": run, "claim": claim, "candidate": candidate, "against": against, "occasion": occasion}
    insert_once(tx, claims, values | {"alpha": alpha, "outcome": outcome, "at": iso(utcnow())})


def listing(tx: Connection, run: str) -> list[ClaimRow]:
    """All claims of a run, oldest first."""
    query = sa.select(claims).where(claims.c.run == run).order_by(claims.c.at)
    return [make(ClaimRow, found) for found in tx.execute(query).mappings()]
