"""Approvals: what waits for a person's word, and what was decided. A decision is taken once and never changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store import phases
from everloop.store import runs as runs_of
from everloop.store._sql import insert_once, make
from everloop.store.tables import approvals, runs
from everloop.values import iso, utcnow

PENDING, APPROVED, REJECTED = "pending", "approved", "rejected"
STATES = (PENDING, APPROVED, REJECTED)
"""What an approval can be."""
CARRIED = "carried"
"""Phase that says of a generation that it began with a decision, and not because somebody resumed the run."""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """An approval as the store holds it."""

    approval_id: str
    """``apr-`` and 20 hexadecimal digits; the same for the same occasion of the same run."""
    run: str
    """Run that waits for it."""
    kind: str
    """What is asked for: ``certification``."""
    candidate: str
    """Candidate it is about."""
    occasion: str
    """Which certification: ``certification-r2c1``."""
    document: Json
    """What the decision can rest on: round, figures, rationale; and where the loop goes on."""
    state: str
    """One of `STATES`."""
    reason: str | None
    """What the person said; None before, and where nothing was said."""
    created_at: str
    """ISO 8601 UTC time of the request."""
    decided_at: str | None
    """ISO 8601 UTC time of the decision."""
    decided_by: str | None
    """Subject of who decided."""


def id_of(run: str, kind: str, candidate: str, occasion: str) -> str:
    """The id of an approval; a phase that is worked again asks for the same one."""
    text = "/".join((run, kind, candidate, occasion))
    return f"apr-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def put(tx: Connection, run: str, kind: str, candidate: str, *, occasion: str, document: Json) -> None:
    """Ask for an approval; nothing changes when it was asked for."""
    values = {"run": run, "kind": kind, "candidate": candidate, "occasion": occasion, "document": document}
    key = {"approval_id": id_of(run, kind, candidate, occasion), "state": PENDING, "created_at": iso(utcnow())}
    insert_once(tx, approvals, values | key)


def get(tx: Connection, approval_id: str) -> ApprovalRow | None:
    """An approval; None when there is none of that id."""
    query = sa.select(approvals).where(approvals.c.approval_id == approval_id)
    found = tx.execute(query).mappings().first()
    return make(ApprovalRow, found) if found else None


def decide(tx: Connection, approval_id: str, state: str, *, reason: str | None, by: str, at: str | None = None) -> bool:
    """Record a decision; False, and nothing changed, when there was one before. `at`: ISO time of it, if not now."""
    values = {"state": state, "reason": reason, "decided_at": at or iso(utcnow()), "decided_by": by}
    where = (approvals.c.approval_id == approval_id, approvals.c.state == PENDING)
    changed = tx.execute(sa.update(approvals).where(*where).values(**values).returning(approvals.c.approval_id))
    return changed.first() is not None


def of_run(tx: Connection, run: str) -> list[ApprovalRow]:
    """Every approval of a run, oldest first."""
    query = sa.select(approvals).where(approvals.c.run == run).order_by(approvals.c.created_at, approvals.c.approval_id)
    return [make(ApprovalRow, found) for found in tx.execute(query).mappings()]


def waiting(tx: Connection, run: str) -> ApprovalRow | None:
    """The approval that a run waits for; None when it waits for none."""
    return next((one for one in of_run(tx, run) if one.state == PENDING), None)


def go_on(tx: Connection, run: str, generation: int) -> bool:
    """Start the next generation of a run that waited; False when another caller has done it.

    Nobody resumed the run, so the new generation takes its turns as the old one would have: the journal says so.
    """
    renewed = runs_of.renew(tx, run, generation)
    return renewed and phases.add(tx, run, 0, CARRIED, f"g{generation + 1}", {"from": f"g{generation}"})


def listing(
    tx: Connection,
    *,
    limit: int,
    state: str | None = None,
    before: tuple[str, str] | None = None,
    project_id: str | None = None,
) -> list[ApprovalRow]:
    """Newest first; `before`: (created_at, approval_id) of the last row of the page before.

    `project_id`: only those of the project's own runs. A run without a recorded project is older than approvals.
    """
    query = sa.select(approvals).order_by(approvals.c.created_at.desc(), approvals.c.approval_id.desc()).limit(limit)
    if state is not None:
        query = query.where(approvals.c.state == state)
    if before is not None:
        query = query.where(sa.tuple_(approvals.c.created_at, approvals.c.approval_id) < sa.tuple_(*before))
    if project_id is not None:
        query = query.join(runs, runs.c.run == approvals.c.run).where(runs.c.project_id == project_id)
    return [make(ApprovalRow, found) for found in tx.execute(query).mappings()]
