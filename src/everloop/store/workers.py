"""Workers: one row an incarnation; its id is the epoch that fences its writes."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.errors import StaleWorker
from everloop.store._sql import make
from everloop.store.tables import workers
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker as the store holds it."""

    id: int
    """Its epoch: never used twice."""
    host: str
    """Host it runs on."""
    pid: int
    """Process id there."""
    heartbeat: float
    """Unix seconds of its last sign of life."""
    fenced: bool
    """Whether it has been declared dead; for good."""


def register(tx: Connection, host: str, pid: int) -> int:
    """A new incarnation; returns its epoch."""
    values = {"host": host, "pid": pid, "started_at": iso(utcnow()), "heartbeat": time.time(), "fenced": False}
    return int(tx.execute(sa.insert(workers).values(**values).returning(workers.c.id)).scalar_one())


def heartbeat(tx: Connection, worker: int) -> bool:
    """A sign of life; False when the worker has been fenced."""
    where = (workers.c.id == worker, workers.c.fenced.is_(False))
    return bool(tx.execute(sa.update(workers).where(*where).values(heartbeat=time.time())).rowcount)


def live(tx: Connection) -> list[WorkerRow]:
    """Workers that are not fenced."""
    query = sa.select(workers).where(workers.c.fenced.is_(False)).order_by(workers.c.id)
    return [make(WorkerRow, found) for found in tx.execute(query).mappings()]


def fenced(tx: Connection, ids: Collection[int]) -> set[int]:
    """Those of `ids` that are fenced, for good."""
    query = sa.select(workers.c.id).where(workers.c.id.in_(list(ids)), workers.c.fenced.is_(True))
    return set(tx.execute(query).scalars())


def fence(tx: Connection, worker: int, seen: float | None) -> bool:
    """Declare a worker dead if its heartbeat is still the one `seen` (None: whatever it is); True for one caller."""
    where = [workers.c.id == worker, workers.c.fenced.is_(False)]
    if seen is not None:
        where.append(workers.c.heartbeat == seen)
    return bool(tx.execute(sa.update(workers).where(*where).values(fenced=True)).rowcount)


def check(tx: Connection, worker: int) -> None:
    """StaleWorker when the worker has been fenced; otherwise it cannot be until this transaction ends."""
    if tx.execute(_FENCED, {"of": worker}).scalar() is not False:
        why = "a peer has taken its runs over"
        raise StaleWorker(f"worker {worker} may not write", why=why, then="Start a new worker")


_FENCED = sa.select(workers.c.fenced).where(workers.c.id == sa.bindparam("of")).with_for_update(read=True)
