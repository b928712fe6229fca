"""Train jobs: those that runs launch, and those that callers submit; what was asked, how they go, how they ended.

A job has two names: ``job_`` and a ULID for everybody outside, and its place in a run (``run``, ``job``) for the loop.
A submitted job is a run's job to nobody: its ``run`` is its own id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from ulid import ULID

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import jobs, runs
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as the store holds it."""

    run: str
    """Run that launched it; its own ``job_id`` for a submitted one."""
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
    """``pending``, ``running``, or how it ended: ``completed failed timeout cancelled lost``."""
    returncode: int | None
    """Return code; None while running or when it never returned."""
    reason: str | None
    """Why it did not complete."""
    seconds: float | None
    """Wall seconds; None while running."""
    reserved_micros: int
    """Worst cost reserved, micro-dollars."""
    job_id: str
    """Id for everybody outside: ``job_`` and a ULID."""
    workspace_id: str | None
    """Workspace it belongs to; None for a job older than that record."""
    project_id: str | None
    """Project it belongs to; None for a job older than that record."""
    label_run: str | None
    """Its label ``rsi_run``, which groups it."""
    request_id: str | None
    """What its submitter calls the request, unique in the project; None for a run's."""
    subject: str | None
    """Who submitted it; None for a run's."""
    spec: Json | None
    """What its submitter asked for; None for a run's."""
    stop_requested: bool
    """Whether it is being stopped."""
    host: str | None
    """Machine that keeps a submitted job; None before one has taken it."""
    created_at: str
    """ISO time."""
    updated_at: str
    """ISO time."""
    finished_at: str | None
    """ISO time of its end; None before."""

    @property
    def submitted(self) -> bool:
        """Whether a caller submitted it, rather than a run."""
        return self.run == self.job_id


ENDED = ("completed", "failed", "timeout", "cancelled", "lost")
"""States that do not change any more."""


def new_id() -> str:
    """A new job id; ids sort by the time they were made."""
    return f"job_{ULID()}"


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
    """Record that a job of a run is being launched, in the run's project; nothing changes when it is there."""
    now = iso(utcnow())
    owner = tx.execute(sa.select(runs.c.workspace_id, runs.c.project_id).where(runs.c.run == run)).first()
    workspace_id, project_id = owner or (None, None)
    values: dict[str, Any] = {"run": run, "job": job, "round": round, "purpose": purpose, "method": method}
    values |= {"labels": labels, "digest": digest, "launcher": launcher, "state": "running"}
    values |= {"reserved_micros": reserved_micros, "created_at": now, "updated_at": now, "stop_requested": False}
    values |= {"job_id": new_id(), "workspace_id": workspace_id, "project_id": project_id, "label_run": run}
    insert_once(tx, jobs, values)


def update(tx: Connection, run: str, job: str, **columns: Any) -> None:
    """Set columns of a job, the time of the update and, with a state that is an end, of its end."""
    where, now = (jobs.c.run == run, jobs.c.job == job), iso(utcnow())
    ended = {"finished_at": now} if columns.get("state") in ENDED else {}
    tx.execute(sa.update(jobs).where(*where).values(updated_at=now, **ended, **columns))


def get(tx: Connection, run: str, job: str) -> JobRow | None:
    """A job; None when there is none of that id."""
    found = tx.execute(sa.select(jobs).where(jobs.c.run == run, jobs.c.job == job)).mappings().first()
    return make(JobRow, found) if found else None


def of_run(tx: Connection, run: str, limit: int = 200) -> list[JobRow]:
    """The newest `limit` jobs of a run, newest first."""
    query = sa.select(jobs).where(jobs.c.run == run).order_by(jobs.c.created_at.desc()).limit(limit)
    return [make(JobRow, found) for found in tx.execute(query).mappings()]
