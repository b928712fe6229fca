"""Train jobs: those that runs launch, and those that callers submit; what was asked, how they go, how they ended.

A job has two names: ``job_`` and a ULID for everybody outside, and its place in a run (``run``, ``job``) for the loop.
A submitted job is a run's job to nobody: its ``run`` is its own id.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that a caller submits."""

    job_id: str
    """Its id, new."""
    workspace_id: str
    """Workspace of the caller."""
    project_id: str
    """Project of the caller."""
    subject: str
    """The caller."""
    request_id: str | None
    """What the caller calls the request."""
    digest: str
    """Hash of the request, by which the same one is known again."""
    purpose: str
    """``submitted``, or what its labels call it."""
    labels: Json
    """Its labels."""
    label_run: str | None
    """Its label ``rsi_run``."""
    spec: Json
    """What was asked for, without the rows."""


ENDED = ("completed", "failed", "timeout", "cancelled", "lost")
"""States that do not change any more."""
ACTIVE = ("pending", "running")
"""States that do."""
STATUSES = {
    "pending": (("pending",), None),
    "running": (("running",), False),
    "stopping": (("running",), True),
    "completed": (("completed",), None),
    "failed": (("failed", "timeout", "lost"), None),
    "cancelled": (("cancelled",), None),
}
"""Word for a job's status outside -> the states that it stands for, and whether a stop was asked for (None: either)."""
_PLACES_LOCK = 0x6A6F6273
_QUEUE_LOCK = 0x71756575


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
    return [make(JobRow, found) for found in tx.execute(_OF_RUN, {"of": run, "most": limit}).mappings()]


# Built once: it is asked for at every poll of a live view.
_OF_RUN = (
    sa.select(jobs)
    .where(jobs.c.run == sa.bindparam("of"))
    .order_by(jobs.c.created_at.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)


def submit(tx: Connection, new: NewJob) -> bool:
    """Record a submitted job in state ``pending``; False when its project has used the request id."""
    now = iso(utcnow())
    values: dict[str, Any] = asdict(new) | {"run": new.job_id, "job": SUBMITTED, "round": 0, "method": "sft"}
    values |= {"launcher": "local", "state": "pending", "reserved_micros": 0, "stop_requested": False}
    return insert_once(tx, jobs, values | {"created_at": now, "updated_at": now})


SUBMITTED = "train"
"""Name of a submitted job in the run that is itself."""


def by_id(tx: Connection, job_id: str, *, lock: bool = False) -> JobRow | None:
    """A job by the id it has outside; None when there is none. `lock`: nobody else changes it until `tx` ends."""
    query = sa.select(jobs).where(jobs.c.job_id == job_id)
    found = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return make(JobRow, found) if found else None


def by_request(tx: Connection, project_id: str, request_id: str) -> JobRow | None:
    """The job that a request of a project made; None when there is none."""
    where = (jobs.c.project_id == project_id, jobs.c.request_id == request_id)
    found = tx.execute(sa.select(jobs).where(*where)).mappings().first()
    return make(JobRow, found) if found else None


def listing(
    tx: Connection,
    *,
    project_id: str | None,
    limit: int,
    before: tuple[str, str] | None = None,
    status: str | None = None,
    run: str | None = None,
) -> list[JobRow]:
    """The newest jobs of a project (None: of all), or of one label ``rsi_run`` in it, newest first.

    `before`: (created_at, job_id) of the last row of the page before; `status`: a key of `STATUSES`. Of all projects
    the order is that of the ids, which are as old as their jobs to the millisecond.
    """
    query = sa.select(jobs).limit(limit)
    if project_id is None:
        query = query.order_by(jobs.c.job_id.desc())
        query = query.where(jobs.c.job_id < before[1]) if before is not None else query
    else:
        query = query.order_by(jobs.c.created_at.desc(), jobs.c.job_id.desc()).where(_of(project_id, status))
        if before is not None:
            query = query.where(sa.tuple_(jobs.c.created_at, jobs.c.job_id) < sa.tuple_(*before))
    if run is not None:
        query = query.where(jobs.c.label_run == run)
    if status is not None:
        states, stopping = STATUSES[status]
        query = query.where(jobs.c.state.in_(states))
        query = query if stopping is None else query.where(jobs.c.stop_requested.is_(stopping))
    return [make(JobRow, found) for found in tx.execute(query).mappings()]


def _of(project_id: str, status: str | None) -> sa.ColumnElement[bool]:
    """Whether a job is of the project; written so that those at work are found by their state, not in the history."""
    if status is not None and set(STATUSES[status][0]) <= set(ACTIVE):
        return sa.func.coalesce(jobs.c.project_id, "") == project_id
    return jobs.c.project_id == project_id


def submitted(
    tx: Connection, state: str, *, limit: int | None = None, after: tuple[str, str] | None = None
) -> list[JobRow]:
    """Submitted jobs that wait (``pending``) or run, oldest first; reads those only, however many have ended.

    `after`: (created_at, job_id) of the last row of the page before.
    """
    query = sa.select(jobs).where(jobs.c.state == state, jobs.c.run == jobs.c.job_id)
    if after is not None:
        query = query.where(sa.tuple_(jobs.c.created_at, jobs.c.job_id) > sa.tuple_(*after))
    ordered = query.order_by(jobs.c.created_at, jobs.c.job_id).limit(limit)
    return [make(JobRow, found) for found in tx.execute(ordered).mappings()]


def keep(tx: Connection, job_ids: Collection[str]) -> None:
    """Say of waiting jobs that their machine still has what they need."""
    where = (jobs.c.job_id.in_(list(job_ids)), jobs.c.state == "pending")
    tx.execute(sa.update(jobs).where(*where).values(updated_at=iso(utcnow())))


def waiting(tx: Connection, project_id: str) -> int:
    """How many submitted jobs of a project wait; two submissions to it cannot count at the same time."""
    if tx.dialect.name == "postgresql":
        query = sa.text("select pg_advisory_xact_lock(:key, hashtext(:project))")
        tx.execute(query, {"key": _QUEUE_LOCK, "project": project_id})
    where = (jobs.c.state == "pending", _of(project_id, "pending"))
    return int(tx.execute(sa.select(sa.func.count()).select_from(jobs).where(*where)).scalar_one())


def take(tx: Connection, job_id: str, host: str, most: int) -> bool:
    """Take a pending job for a host that keeps at most so many at once; True for one caller, False when it is full."""
    if tx.dialect.name == "postgresql":  # on SQLite there is one writing transaction at a time anyway
        tx.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _PLACES_LOCK})
    kept = (jobs.c.state == "running", jobs.c.run == jobs.c.job_id, jobs.c.host == host)
    if int(tx.execute(sa.select(sa.func.count()).select_from(jobs).where(*kept)).scalar_one()) >= most:
        return False
    where = (jobs.c.job_id == job_id, jobs.c.state == "pending", jobs.c.stop_requested.is_(False))
    taken = tx.execute(sa.update(jobs).where(*where).values(state="running", host=host, updated_at=iso(utcnow())))
    return bool(taken.rowcount)


def end(tx: Connection, job_id: str, state: str, *, among: Collection[str] = ACTIVE, **columns: Any) -> bool:
    """End a submitted job that is in one of the states `among`; the first ending stands."""
    now = iso(utcnow())
    where = (jobs.c.job_id == job_id, jobs.c.state.in_(tuple(among)))
    changed = tx.execute(sa.update(jobs).where(*where).values(state=state, updated_at=now, finished_at=now, **columns))
    return bool(changed.rowcount)


def ask_to_stop(tx: Connection, job_id: str) -> None:
    """Mark a running job to be stopped; no effect on an ended one."""
    where = (jobs.c.job_id == job_id, jobs.c.state == "running")
    tx.execute(sa.update(jobs).where(*where).values(stop_requested=True, updated_at=iso(utcnow())))


def note(tx: Connection, job_id: str, spec: Json) -> None:
    """Replace what is kept of a submitted job's request."""
    tx.execute(sa.update(jobs).where(jobs.c.job_id == job_id).values(spec=spec, updated_at=iso(utcnow())))


def trainers(tx: Connection, names: Collection[str]) -> dict[str, str]:
    """Run -> its trainer, for some runs; one statement, however many."""
    query = sa.select(runs.c.run, runs.c.options).where(runs.c.run.in_(list(names)))
    return {run: str(options.get("trainer")) for run, options in tx.execute(query)} if names else {}
