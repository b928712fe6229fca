"""Jobs of a run: what was launched, with which labels, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import jobs
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as the store holds it."""

    job: str
    """Id, unique in its run."""
    round: int
    """Round it belongs to; 0 for the base."""
    purpose: str
    """``base``, ``candidate`` or ``control``."""
    method: str
    """``sft``."""
    labels: Json
    """``rsi_run`` and so on."""
    digest: str
    """Binding digest of its request."""
    launcher: str
    """Where it was started."""
    state: str
    """``running`` or how it ended."""
    returncode: int | None
    """Return code; None while running or when it never returned."""
    reason: str | None
    """Why it did not complete."""
    seconds: float | None
    """Wall seconds; None while running."""
    reserved_micros: int
    """Worst cost reserved, micro-dollars."""
    created_at: str
    """ISO time."""
    updated_at: str
    """ISO time."""


def put(
    tx: Connection,
    run: str,
    job: str,
    *,
    round: int,  # noqa: A002
    purpose: str,
    method: str,
    labels: Json,
    digest: str,
    launcher: str,
    reserved_micros: int,
) -> None:
    """Record that a job is being launched; nothing changes when it is there."""
    now = iso(utcnow())
    values: dict[str, Any] = {"run": run, "job": job, "round": round, "purpose": purpose, "method": method}
    values |= {"labels": labels, "digest": digest, "launcher": launcher, "state": "running"}
    values |= {"reserved_micros": reserved_micros, "created_at": now, "updated_at": now}
    insert_once(tx, jobs, values)


def update(tx: Connection, run: str, job: str, **columns: Any) -> None:
    """Set columns of a job, and the time of the update."""
    where = (jobs.c.run == run, jobs.c.job == job)
    tx.execute(sa.update(jobs).where(*where).values(updated_at=iso(utcnow()), **columns))


def get(tx: Connection, run: str, job: str) -> JobRow | None:
    """A job; None when there is none of that id."""
    found = tx.execute(sa.select(jobs).where(jobs.c.run == run, jobs.c.job == job)).mappings().first()
    return make(JobRow, found) if found else None


def of_run(tx: Connection, run: str, limit: int = 200) -> list[JobRow]:
    """The newest `limit` jobs of a run, newest first."""
    query = sa.select(jobs).where(jobs.c.run == run).order_by(jobs.c.created_at.desc()).limit(limit)
    return [make(JobRow, found) for found in tx.execute(query).mappings()]
