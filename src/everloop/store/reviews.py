"""Reviews: what auditors said of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_once, make
from everloop.store.tables import reviews
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A review as the store holds it."""

    candidate: str
    """Who was reviewed."""
    kind: str
    """Which auditor."""
    passed: bool
    """Verdict."""
    reason: str
    """Why."""
    at: str
    """ISO time."""


def put(tx: Connection, run: str, candidate: str, kind: str, *, passed: bool, reason: str) -> None:
    """Record a review; nothing changes when it is there."""
    values = {"run": run, "candidate": candidate, "kind": kind, "passed": passed, "reason": reason, "at": iso(utcnow())}
    insert_once(tx, reviews, values)


def newest(tx: Connection, run: str, limit: int = 50) -> list[ReviewRow]:
    """The newest `limit` reviews, newest first."""
    query = sa.select(reviews).where(reviews.c.run == run).order_by(reviews.c.at.desc()).limit(limit)
    return [make(ReviewRow, found) for found in tx.execute(query).mappings()]


def of_candidates(tx: Connection, run: str, candidates: Sequence[str]) -> list[ReviewRow]:
    """The reviews of some candidates, oldest first."""
    where = (reviews.c.run == run, reviews.c.candidate.in_(list(candidates)))
    query = sa.select(reviews).where(*where).order_by(reviews.c.at, reviews.c.kind)
    return [make(ReviewRow, found) for found in tx.execute(query).mappings()]
