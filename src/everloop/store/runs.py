"""Runs: one row each; what a run is stands here and nowhere else."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.errors import Conflict, RunNotFound
from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import jobs, runs
from everloop.values import iso, utcnow

_SLOTS_LOCK = 7_233_002
ACTIVE = ("starting", "running")
"""States in which a worker is at work on a run, or should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What a start records."""

    run: str
    """Run id."""
    kind: str
    """What a candidate changes: ``model`` ..."""
    group: str
    """Where the console shows it."""
    level: str
    """``work``, ``harness`` or ``capability``."""
    domain: str
    """Domain."""
    mode: str
    """``live`` or ``dry``."""
    brief: str
    """The goal in words."""
    owner: Json
    """Who started it."""
    seed: int
    """Seed of everything random."""
    rounds_target: int
    """Rounds to do."""
    limits: Json
    """Every limit in force."""
    goal: Json | None
    """Local goal; None without one."""
    stop: Json
    """When to stop early."""
    options: Json
    """Plug-ins."""
    protocol: Json
    """The frozen evaluation plan."""
    protocol_sha256: str
    """Its hash."""
    worst_case_usd: float | None
    """Most the run's own jobs can cost, US dollars; None when unknown."""
    machine: str
    """Where it was started."""
    workspace_id: str | None = None
    """Workspace of who started it; None for a run older than that record."""
    project_id: str | None = None
    """Project of who started it; None for a run older than that record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(NewRun):
    """A run as the store holds it."""

    state: str
    """``starting running paused finished failed stopped``."""
    stop_requested: bool
    """Whether it stops after the present round."""
    round: int
    """Newest round begun; 0 before the first."""
    phase: str | None
    """Newest phase; None before the first."""
    best_version: str | None
    """Certified version; None before v0 exists."""
    working_head: str | None
    """Where the next round starts."""
    lines: Json | None
    """The loop's two lines; None before v0 exists."""
    generation: int
    """1, and one more for each resume or extend."""
    last_seq: int
    """``seq`` of the newest event."""
    error: Json | None
    """Why it is paused or failed."""
    created_at: str
    """ISO time."""
    updated_at: str
    """ISO time."""
    started_at: str | None
    """ISO time of the first phase."""
    ended_at: str | None
    """ISO time of its end."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a list tells of a run; reading no more keeps a list quick."""

    run: str
    """Run id."""
    kind: str
    """What a candidate changes."""
    state: str
    """``starting running paused finished failed stopped``."""
    round: int
    """Newest round begun."""
    rounds_target: int
    """Rounds to do."""
    best_version: str | None
    """Certified version; None before v0 exists."""
    owner: Json
    """Who started it."""
    updated_at: str
    """ISO time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs a list shows.

    Those of a project are its own, and those without an owner that a job of it names. Each of the two reads one range
    of an index, however many runs there are; one condition for both would sort them all.
    """

    limit: int = 25
    """How many."""
    before: tuple[str, str] | None = None
    """(updated_at, run) of the last row of the page before; None for the first page."""
    project_id: str | None = None
    """Only what this project sees; None: all."""
    group: str | None = None
    """Only those of one group of the console; None: all."""


# Built once: building a statement costs more than carrying it out.
_GET = sa.select(runs).where(runs.c.run == sa.bindparam("wanted"))
_LOCK = _GET.with_for_update()


def create(tx: Connection, new: NewRun, at: str | None = None) -> None:
    """Record a run in state ``starting``, made `at` this time or now. Conflict when the id is taken."""
    now = at or iso(utcnow())
    started: dict[str, Any] = {"state": "starting", "stop_requested": False, "round": 0, "generation": 1}
    started |= {"last_seq": 0, "created_at": now, "updated_at": now}
    if not insert_once(tx, runs, asdict(new) | started):
        raise Conflict(f"run {new.run} exists", why="run ids are never used twice", then="Choose another id")


def get(tx: Connection, run: str, *, lock: bool = False) -> RunRow | None:
    """A run; None when there is no such run."""
    found = tx.execute(_LOCK if lock else _GET, {"wanted": run}).mappings().first()
    return make(RunRow, found) if found else None


def require(tx: Connection, run: str, *, lock: bool = False) -> RunRow:
    """A run; RunNotFound when there is no such run. `lock`: nobody else changes it until this transaction ends."""
    row = get(tx, run, lock=lock)
    if row is None:
        raise RunNotFound(f"run {run} is not known", then="See `el job run list`, or GET /v1/agent-runs/rsi/runs")
    return row


def listing(tx: Connection, wanted: Wanted) -> list[RunSummary]:
    """Newest update first."""
    return [make(RunSummary, one) for one in _found(tx, wanted, _SUMMARY).mappings()]


def places(tx: Connection, wanted: Wanted) -> list[tuple[str, str]]:
    """(run, updated_at) of the same rows, which can be read whatever else of a row cannot."""
    return [(one.run, one.updated_at) for one in _found(tx, wanted, ("run", "updated_at"))]


def summary(tx: Connection, run: str) -> RunSummary:
    """What a list tells of one run."""
    query = sa.select(*(runs.c[name] for name in _SUMMARY)).where(runs.c.run == run)
    return make(RunSummary, tx.execute(query).mappings().one())


_SUMMARY = tuple(field.name for field in fields(RunSummary))


def _found(tx: Connection, wanted: Wanted, columns: tuple[str, ...]) -> sa.CursorResult[tuple[Any, ...]]:
    values: dict[str, Any] = {"most": wanted.limit, "project": wanted.project_id, "group": wanted.group}
    if wanted.before is not None:
        values |= {"at": wanted.before[0], "last": wanted.before[1]}
    shape = (wanted.project_id is not None, wanted.before is not None, wanted.group is not None)
    return tx.execute(_listing(columns, *shape), values)


@cache
def _listing(columns: tuple[str, ...], of_project: bool, further: bool, of_group: bool) -> sa.Select[tuple[Any, ...]]:
    """The statement of a page; built once, for building it costs more than carrying it out."""
    newest = _newest(columns, further=further, of_group=of_group)
    if not of_project:
        return newest
    project: sa.BindParameter[str] = sa.bindparam("project")
    named = sa.select(jobs.c.label_run).where(jobs.c.project_id == project, jobs.c.label_run.is_not(None))
    own = newest.where(runs.c.project_id == project).subquery()
    unowned = newest.where(runs.c.project_id.is_(None), runs.c.run.in_(named)).subquery()
    both = sa.union_all(sa.select(own), sa.select(unowned)).subquery()
    return sa.select(both).order_by(both.c.updated_at.desc(), both.c.run.desc()).limit(_MOST)


_MOST: sa.BindParameter[int] = sa.bindparam("most", type_=sa.Integer)


def _newest(columns: tuple[str, ...], *, further: bool, of_group: bool) -> sa.Select[tuple[Any, ...]]:
    shown = (runs.c[name] for name in columns)
    query = sa.select(*shown).order_by(runs.c.updated_at.desc(), runs.c.run.desc()).limit(_MOST)
    if of_group:
        query = query.where(runs.c.group == sa.bindparam("group"))
    if not further:
        return query
    last = sa.tuple_(sa.bindparam("at", type_=sa.String), sa.bindparam("last", type_=sa.String))
    return query.where(sa.tuple_(runs.c.updated_at, runs.c.run) < last)


def labelled(tx: Connection, run: str, project_id: str) -> bool:
    """Whether a train job of the project carries the run's label."""
    query = sa.select(jobs.c.job_id).where(jobs.c.project_id == project_id, jobs.c.label_run == run).limit(1)
    return tx.execute(query).first() is not None


def update(tx: Connection, run: str, **columns: Any) -> None:
    """Set columns of a run, and the time of the update."""
    tx.execute(sa.update(runs).where(runs.c.run == run).values(updated_at=iso(utcnow()), **columns))


def renew(tx: Connection, run: str, generation: int) -> bool:
    """Start the next generation of a run; False when another caller has done it."""
    changed = tx.execute(
        sa.update(runs)
        .where(runs.c.run == run, runs.c.generation == generation)
        .values(
            generation=generation + 1,
            state="running",
            error=None,
            ended_at=None,
            updated_at=iso(utcnow()),
        )
    )
    return bool(changed.rowcount)


def active(tx: Connection) -> list[tuple[str, int, int]]:
    """(run, generation, newest seq) of every run that a worker should be at work on."""
    found = tx.execute(sa.select(runs.c.run, runs.c.generation, runs.c.last_seq).where(runs.c.state.in_(ACTIVE)))
    return [(run, generation, seq) for run, generation, seq in found]


def active_count(tx: Connection) -> int:
    """How many runs are active; two starts cannot count at the same time."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _SLOTS_LOCK})
    return int(tx.execute(sa.select(sa.func.count()).select_from(runs).where(runs.c.state.in_(ACTIVE))).scalar_one())
