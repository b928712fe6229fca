"""Rejected candidates of a time, of which people judge some; and what they said."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.labels import LabelRow
from everloop.store.tables import candidates, labels, runs

REJECTED = ("rejected", "reverted")
"""Decisions that a person may find wrong; an error says nothing of the change."""


def rejected(tx: Connection, project_id: str, first: str, end: str) -> list[tuple[str, str]]:
    """(run, candidate) of the project's rejected candidates that were proposed from `first` on and before `end`."""
    query = (
        sa.select(candidates.c.run, candidates.c.candidate)
        .join(runs, runs.c.run == candidates.c.run)
        # a run that was not touched since has proposed nothing since
        .where(runs.c.project_id == project_id, runs.c.updated_at >= first)
        .where(candidates.c.at >= first, candidates.c.at < end, candidates.c.decision.in_(REJECTED))
    )
    return [(run, candidate) for run, candidate in tx.execute(query)]


def said(tx: Connection, of_runs: Collection[str]) -> dict[tuple[str, str], LabelRow]:
    """What people said of candidates of some runs: (run, candidate) -> the newest label."""
    query = sa.select(labels).where(labels.c.change["run"].as_string().in_(sorted(of_runs))).order_by(labels.c.id)
    rows = [make(LabelRow, found) for found in tx.execute(query).mappings()]
    return {(str(row.change["run"]), str(row.change["candidate"])): row for row in rows}
