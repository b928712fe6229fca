"""Grants: command lines that wait for a person to let them in, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import grants
from everloop.values import iso, utcnow

PENDING, APPROVED, DENIED, CANCELLED = "pending", "approved", "denied", "cancelled"
"""States; wrong confirmation codes are counted as ``pending-1``, ``pending-2`` and so on."""


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A grant as the store holds it; neither the key nor the code is here."""

    grant_id: str
    """UUID4."""
    key_hash: str
    """SHA-256 hex of the key that the command line made for itself."""
    poll_hash: str
    """SHA-256 hex of the token that it asks with."""
    code_hash: str
    """SHA-256 hex of the code that it shows to its user."""
    state: str
    """``pending`` (``pending-N`` after N wrong codes), ``approved``, ``denied`` or ``cancelled``."""
    workspace_id: str | None
    """Workspace it was let into; None until then."""
    project_id: str | None
    """Project it was let into; None until then."""
    user_id: str | None
    """Who decided; None until then."""
    created_at: str
    """ISO time."""
    expires_at: str
    """ISO time after which nobody can decide any more."""
    decided_at: str | None
    """ISO time of the decision; None until then."""

    @property
    def pending(self) -> bool:
        """Whether nobody has decided."""
        return self.state.startswith(PENDING)

    @property
    def misses(self) -> int:
        """Wrong codes so far."""
        return int(self.state.partition("-")[2] or 0)


def create(tx: Connection, row: GrantRow) -> None:
    """Store a new grant."""
    values = {name: getattr(row, name) for name in GrantRow.__dataclass_fields__}
    tx.execute(sa.insert(grants).values(**values))


def get(tx: Connection, grant_id: str, *, lock: bool = False) -> GrantRow | None:
    """A grant; None when there is none. `lock` keeps others from deciding it until the transaction ends."""
    query = sa.select(grants).where(grants.c.grant_id == grant_id)
    found = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return make(GrantRow, found) if found else None


def waiting(tx: Connection) -> int:
    """How many grants are pending and have not expired."""
    where = (grants.c.state.startswith(PENDING), grants.c.expires_at > iso(utcnow()))
    return tx.execute(sa.select(sa.func.count()).select_from(grants).where(*where)).scalar_one()


def oldest(tx: Connection, count: int) -> list[str]:
    """The ids of so many grants that wait, those that began first."""
    where = (grants.c.state.startswith(PENDING), grants.c.expires_at > iso(utcnow()))
    query = sa.select(grants.c.grant_id).where(*where).order_by(grants.c.created_at, grants.c.grant_id)
    return list(tx.execute(query.limit(count)).scalars())


def give_way(tx: Connection, grant_ids: Sequence[str]) -> None:
    """Cancel those of these grants on which nobody has decided."""
    where = (grants.c.grant_id.in_(grant_ids), grants.c.state.startswith(PENDING))
    tx.execute(sa.update(grants).where(*where).values(state=CANCELLED, decided_at=iso(utcnow())))


def missed(tx: Connection, row: GrantRow) -> None:
    """Count a wrong code."""
    where = grants.c.grant_id == row.grant_id
    tx.execute(sa.update(grants).where(where).values(state=f"{PENDING}-{row.misses + 1}"))


def decide(tx: Connection, grant_id: str, state: str, **by: str) -> None:
    """Give a grant its last state; `by`: ``user_id``, ``workspace_id``, ``project_id``."""
    values = {"state": state, "decided_at": iso(utcnow()), **by}
    tx.execute(sa.update(grants).where(grants.c.grant_id == grant_id).values(**values))


def forget(tx: Connection, before: str) -> None:
    """Delete the grants that expired before an ISO time."""
    tx.execute(sa.delete(grants).where(grants.c.expires_at < before))
