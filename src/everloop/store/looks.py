"""Looks: what a sequential test saw each time it was asked whether it has seen enough.

A comparison that is measured again (its worker died, its run was paused) sees the same; where it does not, because an
answer that had failed has come since, what it sees then replaces what was seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make, replace_changed
from everloop.store.tables import looks
from everloop.values import iso, utcnow

CERTIFICATION = "certification"
"""Stage of the comparison of the working head with the certified version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look of a comparison."""

    candidate: str
    """Working head that is compared."""
    stage: str = CERTIFICATION
    """Which comparison of it."""
    pairs: int
    """Pairs that both answered, up to this look."""
    round: int
    """Round in which it is compared."""
    against: str
    """Version it is compared with."""
    wins: int
    """Pairs that only the candidate has right."""
    losses: int
    """Pairs that only the other one has right."""
    log_e: float | None
    """Natural log of the e-value against "no better"; None where the policy has none."""
    futility: float | None
    """Natural log of the e-value against the least gain worth finding; None where the policy has none."""
    threshold: float | None
    """What `log_e` is held against; None where the policy has none."""
    ruling: str
    """``more``, or how the comparison ended here: ``shown futility budget``."""
    at: str = field(default_factory=lambda: str(iso(utcnow())))
    """ISO time; when it was taken for the first time."""


def put(tx: Connection, run: str, *seen: Look) -> None:
    """Record looks. One that is there keeps its time, unless it is another one now."""
    replace_changed(tx, looks, [asdict(one) | {"run": run} for one in seen], but="at")


def settle(tx: Connection, run: str, seen: Sequence[Look]) -> None:
    """Record the looks of a comparison that has ended; what an earlier attempt at it saw besides is forgotten."""
    if not seen:
        return
    of = (looks.c.run == run, looks.c.candidate == seen[-1].candidate, looks.c.stage == seen[-1].stage)
    tx.execute(sa.delete(looks).where(*of, looks.c.pairs.not_in([one.pairs for one in seen])))
    put(tx, run, *seen)


def of_candidate(tx: Connection, run: str, candidate: str, stage: str = CERTIFICATION) -> list[Look]:
    """The looks of one comparison, in order."""
    where = (looks.c.run == run, looks.c.candidate == candidate, looks.c.stage == stage)
    query = sa.select(looks).where(*where).order_by(looks.c.pairs)
    return [make(Look, found) for found in tx.execute(query).mappings()]


def newest(tx: Connection, run: str) -> Look | None:
    """A look of the comparison that was looked at last; None before the first."""
    query = sa.select(looks).where(looks.c.run == run).order_by(looks.c.at.desc()).limit(1)
    found = tx.execute(query).mappings().first()
    return make(Look, found) if found else None
