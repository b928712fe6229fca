"""Sessions of people who signed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import members, projects, sessions, users
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as the store holds it; its token is not here."""

    prefix: str
    """Public part of its token."""
    hash: str
    """SHA-256 hex of its token."""
    user_id: str
    """Who signed in."""
    project_id: str | None
    """Project the person looks at; None: a member of none."""
    created_at: str
    """ISO time."""
    expires_at: str
    """ISO time after which it is refused."""
    revoked_at: str | None
    """ISO time the person signed out or was signed out; None: still in."""
    used_at: str | None
    """ISO time of its last use, to the minute; None: never used."""

    def __repr__(self) -> str:
        return f"SessionRow(prefix={self.prefix!r})"


class Presented(NamedTuple):
    """What one request needs to know of a session and its person."""

    hash: str | None
    user_id: str | None
    project_id: str | None
    expires_at: str
    revoked_at: str | None
    used_at: str | None
    disabled_at: str | None
    """When the person was disabled."""
    workspace_id: str | None
    """Workspace of the project."""
    role: str | None
    """Role in the project; None: not a member."""


_C = sessions.c
_ALWAYS = sa.select(sa.literal(1).label("one")).subquery()
_JOINED = (
    _ALWAYS.outerjoin(sessions, _C.prefix == sa.bindparam("prefix"))
    .outerjoin(users, users.c.user_id == _C.user_id)
    .outerjoin(projects, projects.c.project_id == _C.project_id)
    .outerjoin(members, sa.and_(members.c.project_id == _C.project_id, members.c.user_id == _C.user_id))
)
_PRESENTED = sa.select(
    _C.hash,
    users.c.user_id,
    _C.project_id,
    _C.expires_at,
    _C.revoked_at,
    _C.used_at,
    users.c.disabled_at,
    projects.c.workspace_id,
    members.c.role,
).select_from(_JOINED)


def presented(tx: Connection, prefix: str) -> Presented | None:
    """What a request with a session of this prefix needs; None when there is none, or not its person. One read.

    It gives a row, of nulls, also when there is none, so that this takes as long as when there is one.
    """
    found = Presented(*tx.execute(_PRESENTED, {"prefix": prefix}).one())
    return None if found.hash is None or found.user_id is None else found


def create(tx: Connection, row: SessionRow) -> None:
    """Store a new session."""
    tx.execute(sa.insert(sessions).values({name: getattr(row, name) for name in SessionRow.__dataclass_fields__}))


def get(tx: Connection, prefix: str) -> SessionRow | None:
    """A session; None when there is none of this prefix."""
    found = tx.execute(sa.select(sessions).where(_C.prefix == prefix)).mappings().first()
    return make(SessionRow, found) if found else None


def choose(tx: Connection, prefix: str, project_id: str) -> None:
    """Set the project that a session looks at."""
    tx.execute(sa.update(sessions).where(_C.prefix == prefix).values(project_id=project_id))


def revoke(tx: Connection, prefix: str) -> bool:
    """Refuse a session from now on; False when it was revoked before or is not there."""
    where = (_C.prefix == prefix, _C.revoked_at.is_(None))
    return bool(tx.execute(sa.update(sessions).where(*where).values(revoked_at=iso(utcnow()))).rowcount)


def revoke_all(tx: Connection, user_id: str) -> None:
    """Sign a person out everywhere."""
    where = (_C.user_id == user_id, _C.revoked_at.is_(None))
    tx.execute(sa.update(sessions).where(*where).values(revoked_at=iso(utcnow())))


def used(tx: Connection, prefix: str, now: str) -> None:
    """Note a use of a session; an earlier time never replaces a later one."""
    where = (_C.prefix == prefix, sa.or_(_C.used_at.is_(None), _C.used_at < now))
    tx.execute(sa.update(sessions).where(*where).values(used_at=now))
