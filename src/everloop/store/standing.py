"""Where runs stand: those of a project in some states, newest update first, read without what a page has no use for.

Documents come as text: one that cannot be read any more must not keep the others from being shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import jobs, runs


@dataclass(frozen=True, slots=True)
class Standing:
    """A run, as a first look at a project tells of it."""

    run: str
    """Run id."""
    group: str
    """Where the console lists it."""
    state: str
    """``starting running paused finished failed stopped``."""
    round: int
    """Newest round begun."""
    rounds_target: int
    """Rounds to do."""
    phase: str | None
    """Newest phase; None before the first."""
    best_version: str | None
    """Certified version; None before v0 exists."""
    limits: str
    """Every limit in force, as the text of a JSON object."""
    error: str | None
    """Why it is paused or failed, as the text of a JSON object."""
    updated_at: str
    """ISO time."""


def listing(tx: Connection, states: Sequence[str], *, project_id: str | None, limit: int) -> list[Standing]:
    """The runs in these states, newest update first; `project_id`: only those it sees, as `runs.listing` has it."""
    own = _newest(states, limit)
    if project_id is None:
        return [make(Standing, row) for row in tx.execute(own).mappings()]
    named = sa.select(jobs.c.label_run).where(jobs.c.project_id == project_id, jobs.c.label_run.is_not(None))
    both = (
        own.where(runs.c.project_id == project_id),
        own.where(runs.c.project_id.is_(None), runs.c.run.in_(named)),
    )
    found = [make(Standing, row) for query in both for row in tx.execute(query).mappings()]
    return sorted(found, key=lambda row: (row.updated_at, row.run), reverse=True)[:limit]


def _newest(states: Sequence[str], limit: int) -> sa.Select[tuple[Any, ...]]:
    documents = {"limits", "error"}
    columns = [
        sa.cast(runs.c[name], sa.Text).label(name) if name in documents else runs.c[name]
        for name in (field.name for field in fields(Standing))
    ]
    query = sa.select(*columns).where(runs.c.state.in_(states))
    return query.order_by(runs.c.updated_at.desc(), runs.c.run.desc()).limit(limit)
