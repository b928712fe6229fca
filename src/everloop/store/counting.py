"""Counts over the whole store, for figures of operation."""

from __future__ import annotations

import time

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from everloop.store.tables import jobs, runs, workers


def runs_by_state(tx: Connection) -> dict[str, int]:
    """State -> runs; states without one are left out."""
    return _by_state(tx, runs)


def jobs_by_state(tx: Connection) -> dict[str, int]:
    """State -> train jobs; states without one are left out."""
    return _by_state(tx, jobs)


def workers_alive(tx: Connection, lease_seconds: float) -> int:
    """Workers that are not fenced and gave a sign of life within three leases."""
    since = time.time() - 3 * lease_seconds
    query = sa.select(sa.func.count()).select_from(workers)
    return int(tx.execute(query.where(workers.c.fenced.is_(False), workers.c.heartbeat > since)).scalar_one())


def _by_state(tx: Connection, table: Table) -> dict[str, int]:
    query = sa.select(table.c.state, sa.func.count()).group_by(table.c.state)
    return {str(state): int(count) for state, count in tx.execute(query)}
