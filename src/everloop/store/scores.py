"""Scores: each with its interval, n and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make, upsert
from everloop.store.tables import scores


class Figures(Protocol):
    """What is stored of a score."""

    @property
    def mean(self) -> float | None:
        """Share right; None when nothing was answered."""

    @property
    def low(self) -> float | None:
        """Lower end of its interval."""

    @property
    def high(self) -> float | None:
        """Upper end of its interval."""

    @property
    def n(self) -> int:
        """Items answered."""

    @property
    def missing(self) -> int:
        """Items not answered."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score as the store holds it."""

    subject: str
    """Version, or ``control``."""
    set: str
    """Item set."""
    split: str
    """``all`` or a family."""
    mean: float | None
    """Share right; None when nothing was answered."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""
    n: int
    """Items answered."""
    missing: int
    """Items not answered."""


def put(tx: Connection, run: str, subject: str, set_name: str, split: str, score: Figures) -> None:
    """Record a score; a newer one of the same subject, set and split replaces it."""
    key = {"run": run, "subject": subject, "set": set_name, "split": split}
    figures = {"mean": score.mean, "low": score.low, "high": score.high, "n": score.n, "missing": score.missing}
    upsert(tx, scores, key | figures)


def get(tx: Connection, run: str, subject: str, set_name: str, split: str) -> ScoreRow | None:
    """A score; None when it was not measured."""
    where = (scores.c.run == run, scores.c.subject == subject, scores.c.set == set_name, scores.c.split == split)
    found = tx.execute(sa.select(scores).where(*where)).mappings().first()
    return make(ScoreRow, found) if found else None


def listing(tx: Connection, run: str) -> list[ScoreRow]:
    """All scores of a run."""
    query = sa.select(scores).where(scores.c.run == run).order_by(scores.c.subject, scores.c.set, scores.c.split)
    return [make(ScoreRow, found) for found in tx.execute(query).mappings()]
