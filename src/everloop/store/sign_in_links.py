"""Links that sign a person in once."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import sign_in_links
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link as the store holds it; its token is not here."""

    prefix: str
    """Public part of its token."""
    hash: str
    """SHA-256 hex of its token."""
    user_id: str
    """Whom it signs in."""
    created_at: str
    """ISO time."""
    expires_at: str
    """ISO time after which it is refused."""
    used_at: str | None
    """ISO time it was used or withdrawn; None: it still works."""

    def __repr__(self) -> str:
        return f"LinkRow(prefix={self.prefix!r})"


_C = sign_in_links.c


def create(tx: Connection, row: LinkRow) -> None:
    """Store a new link."""
    tx.execute(sa.insert(sign_in_links).values({name: getattr(row, name) for name in LinkRow.__dataclass_fields__}))


def get(tx: Connection, prefix: str) -> LinkRow | None:
    """A link; None when there is none of this prefix."""
    found = tx.execute(sa.select(sign_in_links).where(_C.prefix == prefix)).mappings().first()
    return make(LinkRow, found) if found else None


def use(tx: Connection, prefix: str) -> bool:
    """Use up a link; False when it was used before, has expired or is not there. Of two at once, one gets True."""
    now = iso(utcnow())
    where = (_C.prefix == prefix, _C.used_at.is_(None), _C.expires_at > now)
    return bool(tx.execute(sa.update(sign_in_links).where(*where).values(used_at=now)).rowcount)


def withdraw(tx: Connection, user_id: str) -> None:
    """Use up every link of a person."""
    where = (_C.user_id == user_id, _C.used_at.is_(None))
    tx.execute(sa.update(sign_in_links).where(*where).values(used_at=iso(utcnow())))
