"""Calls to models: reserved at their worst cost before each attempt, settled after it, their answers journalled.

One row a call, whatever the number of attempts. A call whose answer is here is never paid again.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.ledger import caps
from everloop.ledger.reservations import amounts
from everloop.store._sql import insert_once
from everloop.store.tables import calls
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call as the ledger holds it."""

    attempts: int
    """Attempts begun."""
    open_micros: int | None
    """Reservation of the attempt under way, micro-dollars; None when none is."""
    spent_micros: int
    """What ended attempts cost, micro-dollars."""
    response: str | None
    """The answer as JSON; None while there is none."""


# built once: a run makes thousands of calls, and building a statement costs more than running it
_ONE = (calls.c.run == sa.bindparam("of"), calls.c.call == sa.bindparam("named"))
_GET = sa.select(calls.c.attempts, calls.c.open_micros, calls.c.spent_micros, calls.c.response).where(*_ONE)
_GET_LOCKED = _GET.with_for_update()
_END = (
    sa.update(calls)
    .where(*_ONE, calls.c.open_micros == sa.bindparam("reserved"))
    .values(
        open_micros=None,
        spent_micros=calls.c.spent_micros + sa.bindparam("cost", type_=sa.BigInteger),
        response=sa.bindparam("answer"),
    )
)


def get(tx: Connection, account: str, call: str, *, lock: bool = False) -> CallRow | None:
    """A call; None when it was never begun. `lock`: nobody else changes it until the transaction ends."""
    found = tx.execute(_GET_LOCKED if lock else _GET, {"of": account, "named": call}).first()
    return None if found is None else CallRow(*found)


def begin(
    tx: Connection, account: str, call: str, *, model: str, student: bool, micros: int, requests: int = 1
) -> CallRow:
    """Reserve one attempt at its worst cost, unless the call has its answer; returns the call as it is afterwards.

    An attempt that a dead process left open is charged at its reservation, in the same transaction. CapReached when a
    cap would be passed; the transaction must then be given up.
    """
    fixed = {"run": account, "call": call, "model": model, "purpose": _purpose(student), "at": iso(utcnow())}
    row = {"attempts": 1, "open_micros": micros, "spent_micros": 0}
    if insert_once(tx, calls, fixed | row):
        caps.take(tx, account, _amounts(micros, requests, student))
        return CallRow(1, micros, 0, None)
    # locked: of two processes that begin the same call, the second sees what the first has made of it
    known = get(tx, account, call, lock=True)
    assert known is not None  # rows of calls under way are never deleted
    if known.response is not None:
        return known
    if known.open_micros is not None:
        left = _amounts(known.open_micros, 1, student)
        caps.settle(tx, account, left, left)
    caps.take(tx, account, _amounts(micros, requests, student))
    spent = known.spent_micros + (known.open_micros or 0)
    row = {"attempts": known.attempts + 1, "open_micros": micros, "spent_micros": spent}
    tx.execute(sa.update(calls).where(*_ONE).values(**row), {"of": account, "named": call})
    return CallRow(known.attempts + 1, micros, spent, None)


def end(
    tx: Connection,
    account: str,
    call: str,
    *,
    reserved: int,
    student: bool,
    micros: int,
    requests: int,
    response: str | None,
) -> None:
    """Turn the open attempt's reservation into what it cost and keep its answer.

    `reserved`: the micro-dollars it was begun with. Nothing happens when no such attempt is open.
    """
    told = {"of": account, "named": call, "reserved": reserved, "cost": micros, "answer": response}
    if not tx.execute(_END, told).rowcount:
        return
    caps.settle(tx, account, _amounts(reserved, 1, student), _amounts(micros, requests, student))


def forget_answers(tx: Connection, account: str, prefix: str) -> None:
    """Drop the answers to a student's calls whose keys begin with `prefix`: what they led to is recorded by now.

    A call whose attempt is open stays: its reservation is still to be settled.
    """
    closed = calls.c.open_micros.is_(None)
    where = (*_beginning(account, prefix), closed, calls.c.purpose == _purpose(student=True))
    tx.execute(sa.delete(calls).where(*where))


def answered(tx: Connection, account: str, prefix: str) -> set[str]:
    """Calls that have their answer, of those whose keys begin with `prefix`."""
    query = sa.select(calls.c.call).where(*_beginning(account, prefix), calls.c.response.is_not(None))
    return set(tx.execute(query).scalars())


def _beginning(account: str, prefix: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (calls.c.run == account, calls.c.call >= prefix, calls.c.call < prefix + "\U0010ffff")


def _purpose(student: bool) -> str:
    return "student" if student else "model"


def _amounts(micros: int, requests: int, student: bool) -> dict[str, int]:
    return amounts(micros, 0, 0 if student else requests, requests if student else 0)
