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
    found = tx.execute(_SINCE, {"of": run, "after": seq, "most": limit})
    return [_recorded(one) for one in found.mappings()]


def newest(tx: Connection, run: str, limit: int = 200) -> list[RecordedEvent]:
    """The newest `limit` events, oldest first."""
    found = tx.execute(_NEWEST, {"of": run, "most": limit})
    return [_recorded(one) for one in reversed(found.mappings().all())]


# Built once: they are asked for at every poll, and building a statement costs more than carrying it out.
_OF, _MOST = events.c.run == sa.bindparam("of"), sa.bindparam("most", type_=sa.Integer)
# who asks may name more than the column can hold; PostgreSQL would refuse that as a value of the column's type
_AFTER = sa.bindparam("after", type_=sa.BigInteger)
_SINCE = sa.select(events).where(_OF, events.c.seq > _AFTER).order_by(events.c.seq).limit(_MOST)
_NEWEST = sa.select(events).where(_OF).order_by(events.c.seq.desc()).limit(_MOST)


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
