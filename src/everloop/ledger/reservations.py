"""Reservations: the worst cost of each paid thing, taken before it happens and settled once it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.ledger import caps
from everloop.store._sql import insert_once
from everloop.store.tables import reservations
from everloop.values import Money, iso, utcnow


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run has spent."""

    model: Money
    """On models behind the gateway."""
    compute: Money
    """On jobs."""
    model_requests: int
    """Requests to operator and auditor models."""
    student_requests: int
    """Requests to a student behind the gateway."""

    def to_json(self) -> Json:
        """The run document's ``spend``."""
        return {
            "model_usd": self.model.usd,
            "gpu_usd": self.compute.usd,
            "total_usd": (self.model + self.compute).usd,
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
    total, model = meters.get("usd_cap", 0), meters.get("model_usd_cap", 0)
    requests, student = meters.get("model_request_cap", 0), meters.get("student_request_cap", 0)
    return Spend(Money(model), Money(total - model), requests, student)


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
