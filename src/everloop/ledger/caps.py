"""Caps of a run: one row each, in micro-dollars or whole requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.errors import CapReached
from everloop.events import Json
from everloop.store._sql import insert_once
from everloop.store.tables import caps
from everloop.values import MICRO, Money

MONEY = ("model_usd_cap", "usd_cap")
"""Caps in micro-dollars."""
REQUESTS = ("model_request_cap", "student_request_cap", "request_cap")
"""Caps in requests."""


def open_caps(tx: Connection, run: str, limits: Json) -> None:
    """A row for each cap; a limit of None is metered without a bound."""
    for cap in (*MONEY, *REQUESTS):
        limit = cast(float | None, limits.get(cap))
        bound = None if limit is None else int(round(limit * MICRO, 3)) if cap in MONEY else int(limit)
        insert_once(tx, caps, {"run": run, "cap": cap, "limit": bound, "reserved": 0, "spent": 0})


def take(tx: Connection, run: str, amounts: Mapping[str, int]) -> None:
    """Reserve amounts of several caps: one conditional update each, in one transaction, so all or nothing.

    CapReached names the cap that would be passed; the caller's transaction must then be given up.
    """
    for cap, amount in amounts.items():
        room = sa.or_(caps.c.limit.is_(None), caps.c.reserved + caps.c.spent + amount <= caps.c.limit)
        where = (caps.c.run == run, caps.c.cap == cap, room)
        if amount and not tx.execute(sa.update(caps).where(*where).values(reserved=caps.c.reserved + amount)).rowcount:
            raise _reached(tx, run, cap, amount)


def settle(tx: Connection, run: str, reserved: Mapping[str, int], actual: Mapping[str, int]) -> None:
    """Turn reservations into spend; an actual amount above its reservation is recorded in full."""
    # one order for every caller, the order of `take`: two processes then never wait for each other in a circle
    for cap in (cap for cap in (*MONEY, *REQUESTS) if cap in reserved or cap in actual):
        where = (caps.c.run == run, caps.c.cap == cap)
        given = {"reserved": caps.c.reserved - reserved.get(cap, 0), "spent": caps.c.spent + actual.get(cap, 0)}
        tx.execute(sa.update(caps).where(*where).values(**given))


def spent(tx: Connection, run: str) -> dict[str, int]:
    """What each cap's meter shows."""
    found = tx.execute(sa.select(caps.c.cap, caps.c.spent).where(caps.c.run == run))
    return {row.cap: row.spent for row in found}


def exhausted(tx: Connection, run: str) -> str | None:
    """A cap with nothing left; None when all have room."""
    full = sa.and_(caps.c.limit.is_not(None), caps.c.spent + caps.c.reserved >= caps.c.limit)
    query = sa.select(caps.c.cap).where(caps.c.run == run, full).order_by(caps.c.cap).limit(1)
    return tx.execute(query).scalar()


def _reached(tx: Connection, run: str, cap: str, amount: int) -> CapReached:
    row = tx.execute(sa.select(caps).where(caps.c.run == run, caps.c.cap == cap)).mappings().first()
    if row is None:
        return CapReached(f"{cap} of run {run} is not open", then="Start the run through the service")

    def told(value: int) -> str:
        return f"{Money(value).usd:g} USD" if cap in MONEY else str(value)

    held = f"{told(row['spent'])} spent, {told(row['reserved'])} reserved"
    held += f", {told(amount)} wanted of {told(row['limit'])}"
    return CapReached(f"{cap} is reached", why=held)
