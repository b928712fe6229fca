"""The first look at a project: what is at work, what it has spent of what it may, what needs a person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from everloop.events import Json, JsonValue
from everloop.ledger import reservations
from everloop.service import approvals, figures
from everloop.service._transactions import reading
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.store import standing
from everloop.store.standing import Standing
from everloop.values import iso, utcnow

MOST = 20
"""Most rows of each list."""
FAILED_DAYS = 7
"""Days for which a run that failed is told of; it asks for nobody for ever."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest of a list."""

    items: Sequence[Json]
    """Its rows: ``run group state round rounds_target phase best_version limits error spend updated_at``."""
    more: bool
    """Whether there are more than these."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A project at one moment."""

    active: Rows
    """Runs that a worker is at work on, or should be."""
    paused: Rows
    """Runs that wait for somebody to resume or stop them, with why."""
    failed: Rows
    """Runs that broke off for good within the last `FAILED_DAYS`, with why."""
    approvals: Rows
    """Approvals that nobody has decided yet: approval objects."""
    workers: int
    """Workers alive; without one no run gets on."""


def of(installation: Installation, caller: Caller) -> Overview:
    """What there is to see in the caller's project; as quick with many runs as with few."""
    caller.require(Permission.READ)
    project = None if caller.sees_all else caller.project_id

    recent = iso(utcnow() - timedelta(days=FAILED_DAYS)) or ""

    def read(tx: Connection) -> tuple[Rows, Rows, Rows]:
        active = _rows(tx, ("starting", "running"), project)
        return active, _rows(tx, ("paused",), project), _rows(tx, ("failed",), project, recent)

    active, paused, failed = reading(installation, read)
    waiting = approvals.listing(installation, caller, state="pending", limit=MOST)
    pending = Rows(waiting.items, waiting.next_cursor is not None)
    return Overview(active, paused, failed, pending, figures.workers_alive(installation))


def _rows(tx: Connection, states: Sequence[str], project: str | None, since: str = "") -> Rows:
    newest = standing.listing(tx, states, project_id=project, limit=MOST + 1)
    found = [row for row in newest if row.updated_at >= since]
    shown = found[:MOST]
    spent = reservations.spends(tx, [row.run for row in shown])
    return Rows([_row(row, spent[row.run]) for row in shown], len(found) > MOST)


def _row(row: Standing, spend: reservations.Spend) -> Json:
    return {
        "run": row.run,
        "group": row.group,
        "state": row.state,
        "round": row.round,
        "rounds_target": row.rounds_target,
        "phase": row.phase,
        "best_version": row.best_version,
        "limits": _read(row.limits),
        "error": _read(row.error),
        "spend": spend.to_json(),
        "updated_at": row.updated_at,
    }


def _read(text: str | None) -> JsonValue:
    """The object of a text; None for what is none, which says nothing against the run's other columns."""
    try:
        found: JsonValue = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
