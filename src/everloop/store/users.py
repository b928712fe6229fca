"""People who may sign in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from ulid import ULID

from everloop.store._sql import insert_once, make
from everloop.store.tables import members, users
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class UserRow:
    """A person as the store holds them."""

    user_id: str
    """Id: ``user_`` and a ULID, or ``owner``."""
    email: str | None
    """E-mail address in lower case, unique; None: signs in without one."""
    name: str
    """What they are called."""
    password: str | None
    """Argon2 hash; None: no password signs them in."""
    issuer: str | None
    """Issuer of the single sign-on they came by; None: none."""
    issuer_subject: str | None
    """What that issuer calls them."""
    created_at: str
    """ISO time."""
    disabled_at: str | None
    """ISO time from which they may not sign in; None: they may."""

    def __repr__(self) -> str:
        return f"UserRow(user_id={self.user_id!r})"


def new_id() -> str:
    """A new user id."""
    return f"user_{ULID()}"


def create(tx: Connection, user_id: str, *, name: str, **columns: str | None) -> bool:
    """Store a new person; False when the id, the e-mail address or the issuer's subject is taken."""
    return insert_once(tx, users, {"user_id": user_id, "name": name, "created_at": iso(utcnow()), **columns})


def get(tx: Connection, user_id: str, *, lock: bool = False) -> UserRow | None:
    """A person; None when there is none of this id. `lock`: nobody else changes them until the transaction ends."""
    return _one(tx, users.c.user_id == user_id, lock=lock)


def by_email(tx: Connection, email: str) -> UserRow | None:
    """The person with this e-mail address, in lower case; None without one."""
    return _one(tx, users.c.email == email)


def by_issuer(tx: Connection, issuer: str, subject: str) -> UserRow | None:
    """The person whom an issuer calls `subject`; None without one."""
    return _one(tx, users.c.issuer == issuer, users.c.issuer_subject == subject)


def update(tx: Connection, user_id: str, **columns: str | None) -> None:
    """Set columns of a person."""
    tx.execute(sa.update(users).where(users.c.user_id == user_id).values(**columns))


def outside(tx: Connection, project_id: str, like: str, limit: int) -> list[UserRow]:
    """People who are not members of a project, with `like` in their name or e-mail address; by name."""
    inside = sa.select(members.c.user_id).where(members.c.project_id == project_id)
    wanted = users.c.name.icontains(like, autoescape=True) | users.c.email.icontains(like, autoescape=True)
    query = sa.select(users).where(wanted, users.c.disabled_at.is_(None), users.c.user_id.not_in(inside))
    found = tx.execute(query.order_by(users.c.name, users.c.user_id).limit(limit)).mappings()
    return [make(UserRow, one) for one in found]


def _one(tx: Connection, *where: Any, lock: bool = False) -> UserRow | None:
    query = sa.select(users).where(*where)
    found = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return make(UserRow, found) if found else None
