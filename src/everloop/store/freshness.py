"""Whether anything about a run has changed since a reader last looked: one statement, however long the run is."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store.tables import approvals, caps, jobs, looks, runs, steers


@dataclass(frozen=True, slots=True)
class Freshness:
    """A run's owner, for the question who may look, and its state."""

    workspace_id: str | None
    """Workspace of its owner; None for a run older than that record."""
    project_id: str | None
    """Project of its owner; None for a run older than that record."""
    mark: str
    """Differs after every change of what is told of the run."""


_RUN: sa.BindParameter[str] = sa.bindparam("wanted")
# Figures that change without an event: jobs under way, money and requests, steers that wait, approvals decided, looks.
_PARTS = (
    sa.select(sa.func.max(jobs.c.updated_at)).where(jobs.c.run == _RUN).scalar_subquery(),
    sa.select(sa.func.sum(caps.c.spent)).where(caps.c.run == _RUN).scalar_subquery(),
    sa.select(sa.func.sum(caps.c.reserved)).where(caps.c.run == _RUN).scalar_subquery(),
    sa.select(sa.func.count()).where(steers.c.run == _RUN, steers.c.status == "queued").scalar_subquery(),
    sa.select(sa.func.max(approvals.c.decided_at)).where(approvals.c.run == _RUN).scalar_subquery(),
    sa.select(sa.func.max(looks.c.at)).where(looks.c.run == _RUN).scalar_subquery(),
)
_STATE = (runs.c.generation, runs.c.state, runs.c.last_seq, runs.c.updated_at, runs.c.stop_requested)
_QUERY = sa.select(runs.c.workspace_id, runs.c.project_id, *_STATE, *_PARTS).where(runs.c.run == _RUN)


def look(tx: Connection, run: str) -> Freshness | None:
    """How fresh a run is; None without such a run."""
    found = tx.execute(_QUERY, {"wanted": run}).first()
    if found is None:
        return None
    workspace_id, project_id, *state = found
    return Freshness(workspace_id, project_id, "|".join(str(one) for one in state))
