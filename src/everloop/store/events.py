"""Events of a run: append-only, numbered from 1 without gaps in the transaction of what they tell."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.engine import RowMapping

from everloop.errors import RunNotFound
from everloop.events import Event, EventKind, RecordedEvent
from everloop.store.tables import events, runs
from everloop.values import iso, utcnow


def append(tx: Connection, run: str, *happened: Event, **columns: Any) -> int:
    """Append events in order and set columns of the run with them; returns the newest ``seq``.

    RunNotFound without such a run.
    """
    values = columns | {"last_seq": runs.c.last_seq + len(happened), "updated_at": iso(utcnow())}
    claim = sa.update(runs).where(runs.c.run == run).values(**values)
    last = tx.execute(claim.returning(runs.c.last_seq)).scalar()
    if last is None:
        raise RunNotFound(f"run {run} is not known")
    first, now = int(last) - len(happened) + 1, iso(utcnow())
    rows = [_row(run, first + place, now, event) for place, event in enumerate(happened)]
    if rows:
        tx.execute(sa.insert(events), rows)
    return int(last)


def _row(run: str, seq: int, now: str | None, event: Event) -> dict[str, Any]:
    return {
        "run": run,
        "seq": seq,
        "at": now,
        "kind": str(event.kind),
        "text": event.text,
        "round": event.round,
        "phase": event.phase,
        "role": event.role,
        "tool": event.tool,
        "data": dict(event.data),
    }


def since(tx: Connection, run: str, seq: int, limit: int = 200) -> list[RecordedEvent]:
    """The first `limit` events after `seq`, oldest first."""
    query = sa.select(events).where(events.c.run == run, events.c.seq > seq).order_by(events.c.seq).limit(limit)
    return [_recorded(found) for found in tx.execute(query).mappings()]


def newest(tx: Connection, run: str, limit: int = 200) -> list[RecordedEvent]:
    """The newest `limit` events, oldest first."""
    query = sa.select(events).where(events.c.run == run).order_by(events.c.seq.desc()).limit(limit)
    return [_recorded(found) for found in reversed(tx.execute(query).mappings().all())]


def _recorded(found: RowMapping) -> RecordedEvent:
    event = Event(
        EventKind(found["kind"]),
        found["text"],
        found["round"],
        found["phase"],
        found["role"],
        found["tool"],
        found["data"],
    )
    return RecordedEvent(found["seq"], found["at"], event)
