"""Caps of a run: one row each, in micro-dollars or whole requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Reserve amounts of several caps with one conditional update, all or nothing.

    CapReached names the cap that would be passed; the caller's transaction must then be given up.
    """
    wanted = {cap: amount for cap, amount in amounts.items() if amount}
    if not wanted:
        return
    taken = set(tx.execute(_TAKE, {"of": run} | _NOTHING | wanted).scalars())
    for cap in (cap for cap in (*MONEY, *REQUESTS) if cap in wanted and cap not in taken):
        raise _reached(tx, run, cap, wanted[cap])


def settle(tx: Connection, run: str, reserved: Mapping[str, int], actual: Mapping[str, int]) -> None:
    """Turn reservations into spend; an actual amount above its reservation is recorded in full."""
    if reserved or actual:
        spent = {f"spent_{cap}": amount for cap, amount in actual.items()}
        tx.execute(_SETTLE, {"of": run} | _NOTHING | dict(reserved) | spent)


def _each(prefix: str = "") -> sa.ColumnElement[int]:
    """The amount, of those bound by name, that belongs to a row's own cap."""
    return sa.case(
        *((caps.c.cap == cap, sa.bindparam(f"{prefix}{cap}", type_=sa.BigInteger)) for cap in (*MONEY, *REQUESTS)),
        else_=0,
    )


# built once: with five caps each, building them costs more than running them
_NOTHING = {f"{prefix}{cap}": 0 for cap in (*MONEY, *REQUESTS) for prefix in ("", "spent_")}
_ROOM = sa.or_(caps.c.limit.is_(None), caps.c.reserved + caps.c.spent + _each() <= caps.c.limit)
_TAKE = (
    sa.update(caps)
    .where(caps.c.run == sa.bindparam("of"), _each() > 0, _ROOM)
    .values(reserved=caps.c.reserved + _each())
    .returning(caps.c.cap)
)
_SETTLE = (
    sa.update(caps)
    .where(caps.c.run == sa.bindparam("of"), _each() + _each("spent_") > 0)
    .values(reserved=caps.c.reserved - _each(), spent=caps.c.spent + _each("spent_"))
)


def spent(tx: Connection, run: str) -> dict[str, int]:
    """What each cap's meter shows."""
    return {row.cap: row.spent for row in tx.execute(_SPENT, {"of": run})}


_SPENT = sa.select(caps.c.cap, caps.c.spent).where(caps.c.run == sa.bindparam("of"))


def spent_of(tx: Connection, runs: Sequence[str]) -> dict[str, dict[str, int]]:
    """What each cap's meter shows, of several runs."""
    meters: dict[str, dict[str, int]] = {}
    for run, cap, spent in tx.execute(_SPENT_OF, {"runs": list(runs)}):
        meters.setdefault(run, {})[cap] = spent
    return meters


_SPENT_OF = sa.select(caps.c.run, caps.c.cap, caps.c.spent).where(caps.c.run.in_(sa.bindparam("runs", expanding=True)))


def exhausted(tx: Connection, run: str) -> str | None:
    """A cap with nothing left; None when all have room."""
    full = sa.and_(caps.c.limit.is_not(None), caps.c.spent + caps.c.reserved >= caps.c.limit)
    query = sa.select(caps.c.cap).where(caps.c.run == run, full).order_by(caps.c.cap).limit(1)
    return tx.execute(query).scalar()


def _reached(tx: Connection, run: str, cap: str, amount: int) -> CapReached:
    row = tx.execute(sa.select(caps).where(caps.c.run == run, caps.c.cap == cap)).mappings().first()
    if row is None:
        return CapReached(f"{cap} of run {run} is not open", then="Start the run through the service")
    held = f"{_told(cap, row['spent'])} spent, {_told(cap, row['reserved'])} reserved"
    return CapReached(f"{cap} is reached", why=f"{held}, {_told(cap, amount)} wanted of {_told(cap, row['limit'])}")


def _told(cap: str, value: int) -> str:
    return f"{Money(value).usd:g} USD" if cap in MONEY else str(value)
