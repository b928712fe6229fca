"""Reservations: the worst cost of each paid thing, taken before it happens and settled once it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json, JsonValue
from everloop.ledger import caps
from everloop.store._sql import insert_once
from everloop.store.tables import reservations
from everloop.values import Money, iso, utcnow


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run has spent; None where nothing was metered, which is not the same as nothing spent."""

    model: Money | None
    """On models behind the gateway."""
    total: Money | None
    """On models and jobs together."""
    model_requests: int | None
    """Requests to operator and auditor models."""
    student_requests: int | None
    """Requests to a student behind the gateway."""

    @property
    def compute(self) -> Money | None:
        """On jobs."""
        return None if self.model is None or self.total is None else self.total - self.model

    def to_json(self) -> Json:
        """The run document's ``spend``."""
        return {
            "model_usd": _usd(self.model),
            "gpu_usd": _usd(self.compute),
            "total_usd": _usd(self.total),
            "model_requests": self.model_requests,
            "student_requests": self.student_requests,
        }


def reserve(
    tx: Connection,
    run: str,
    key: str,
    *,
    model_micros: int = 0,
    compute_micros: int = 0,
    model_requests: int = 0,
    student_requests: int = 0,
) -> bool:
    """Take the worst cost of `key` from every cap it counts against; False when it was taken before.

    CapReached when one would be passed; the transaction must then be given up, and nothing was reserved.
    """
    worst = amounts(model_micros, compute_micros, model_requests, student_requests)
    values = {"run": run, "key": key, "state": "reserved", "reserved": worst, "at": iso(utcnow())}
    if not insert_once(tx, reservations, values):
        return False
    caps.take(tx, run, worst)
    return True


def settle(
    tx: Connection,
    run: str,
    key: str,
    *,
    model_micros: int = 0,
    compute_micros: int = 0,
    model_requests: int = 0,
    student_requests: int = 0,
) -> bool:
    """Record what `key` really cost, once; False when it was settled before or never reserved."""
    actual = amounts(model_micros, compute_micros, model_requests, student_requests)
    return _close(tx, run, key, "settled", actual)


def release(tx: Connection, run: str, key: str) -> bool:
    """Give a reservation back: what it was for did not happen. False when it is closed already."""
    return _close(tx, run, key, "released", {})


def spend(tx: Connection, run: str) -> Spend:
    """What the run has spent so far."""
    return _spend(caps.spent(tx, run))


def spends(tx: Connection, runs: Sequence[str]) -> dict[str, Spend]:
    """What each of several runs has spent so far; one statement."""
    meters = caps.spent_of(tx, runs)
    return {run: _spend(meters.get(run, {})) for run in runs}


def _spend(meters: Mapping[str, int]) -> Spend:
    model, total = (None if cap not in meters else Money(meters[cap]) for cap in caps.MONEY)
    return Spend(model, total, meters.get("model_request_cap"), meters.get("student_request_cap"))


def since(before: Json, now: Json) -> Json:
    """What was spent from one ``spend`` of a run to a later one, to the micro-dollar; null where one is not known."""
    return {name: _less(now.get(name), before.get(name)) for name in now}


def _less(now: JsonValue, before: JsonValue) -> float | None:
    known = isinstance(now, int | float) and isinstance(before, int | float)
    return round(cast(float, now) - cast(float, before), 6) if known else None


def _usd(money: Money | None) -> float | None:
    return None if money is None else money.usd


def amounts(model: int, compute: int, model_requests: int, student_requests: int) -> dict[str, int]:
    """What one thing counts against: models against two caps, compute against one, requests against two."""
    if min(model, compute, model_requests, student_requests) < 0:
        raise ValueError("a cost is never negative")
    counted = {
        "model_usd_cap": model,
        "usd_cap": model + compute,
        "model_request_cap": model_requests,
        "student_request_cap": student_requests,
        "request_cap": model_requests + student_requests,
    }
    return {cap: amount for cap, amount in counted.items() if amount}


def _close(tx: Connection, run: str, key: str, state: str, actual: dict[str, int]) -> bool:
    where = (reservations.c.run == run, reservations.c.key == key, reservations.c.state == "reserved")
    values = {"state": state, "actual": actual}
    closing = sa.update(reservations).where(*where).values(**values).returning(reservations.c.reserved)
    reserved = tx.execute(closing).scalar()
    if reserved is None:
        return False
    caps.settle(tx, run, cast(dict[str, int], reserved), actual)
    return True
