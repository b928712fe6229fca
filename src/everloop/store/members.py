"""Who is what in which project."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make, upsert
from everloop.store.tables import members, users
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a project, with what people call them."""

    project_id: str
    """Project."""
    user_id: str
    """Person."""
    role: str
    """``viewer``, ``developer`` or ``admin``."""
    created_at: str
    """ISO time the person got this role."""
    email: str | None
    """The person's e-mail address; None without one."""
    name: str
    """The person's name."""
    disabled_at: str | None
    """ISO time from which the person may not sign in; None: they may."""


_FULL = sa.select(members, users.c.email, users.c.name, users.c.disabled_at).join(
    users, users.c.user_id == members.c.user_id
)


def put(tx: Connection, project_id: str, user_id: str, role: str) -> None:
    """Make a person a member of a project, or give them another role there."""
    values = {"project_id": project_id, "user_id": user_id, "role": role, "created_at": iso(utcnow())}
    upsert(tx, members, values)


def get(tx: Connection, project_id: str, user_id: str) -> MemberRow | None:
    """A member; None when the person is none of the project."""
    query = _FULL.where(members.c.project_id == project_id, members.c.user_id == user_id)
    found = tx.execute(query).mappings().first()
    return make(MemberRow, found) if found else None


def remove(tx: Connection, project_id: str, user_id: str) -> bool:
    """End a membership; False when there is none."""
    where = (members.c.project_id == project_id, members.c.user_id == user_id)
    return bool(tx.execute(sa.delete(members).where(*where)).rowcount)


def listing(tx: Connection, project_id: str) -> list[MemberRow]:
    """The members of a project, longest there first."""
    query = _FULL.where(members.c.project_id == project_id).order_by(members.c.created_at, members.c.user_id)
    return [make(MemberRow, found) for found in tx.execute(query).mappings()]


def of_user(tx: Connection, user_id: str) -> list[MemberRow]:
    """The memberships of a person, oldest first."""
    query = _FULL.where(members.c.user_id == user_id).order_by(members.c.created_at, members.c.project_id)
    return [make(MemberRow, found) for found in tx.execute(query).mappings()]
