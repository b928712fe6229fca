"""Keys of projects: what they may do, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Text

from everloop.store._sql import insert_once, make
from everloop.store.tables import api_keys
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key as the store holds it; the key itself is not here."""

    prefix: str
    """Its public part."""
    hash: str
    """SHA-256 hex of the key."""
    workspace_id: str
    """Workspace of its project."""
    project_id: str
    """Project it belongs to."""
    name: str
    """What it is for, in its maker's words."""
    kind: str
    """``automation``, ``read-only`` or ``custom``."""
    permissions: list[str]
    """What it may do."""
    created_by: str
    """Subject of its maker."""
    created_at: str
    """ISO time."""
    expires_at: str | None
    """ISO time after which it is refused; None: never."""
    revoked_at: str | None
    """ISO time it was revoked; None: it was not."""
    used_at: str | None
    """ISO time of its last use, to the minute; None: never used."""

    def __repr__(self) -> str:
        return f"ApiKeyRow(prefix={self.prefix!r})"


class Presented(NamedTuple):
    """What one request needs to know of a key."""

    hash: str | None
    workspace_id: str
    project_id: str
    permissions: str
    """A JSON list, still as text: a key that was found but does not match costs no more than one not found."""
    expires_at: str | None
    revoked_at: str | None
    used_at: str | None


_C = api_keys.c
_ALWAYS = sa.select(sa.literal(1).label("one")).subquery()
_PRESENTED = sa.select(
    _C.hash,
    _C.workspace_id,
    _C.project_id,
    sa.cast(_C.permissions, Text),
    _C.expires_at,
    _C.revoked_at,
    _C.used_at,
).select_from(_ALWAYS.outerjoin(api_keys, _C.prefix == sa.bindparam("prefix")))


def presented(tx: Connection, prefix: str) -> Presented | None:
    """What a request with a key of this prefix needs; None when there is none. One indexed read.

    It gives a row, of nulls, also when there is none, so that this takes as long as when there is one.
    """
    found = Presented(*tx.execute(_PRESENTED, {"prefix": prefix}).one())
    return None if found.hash is None else found


def create(tx: Connection, row: ApiKeyRow) -> bool:
    """Store a new key; False when its prefix is taken."""
    return insert_once(tx, api_keys, {name: getattr(row, name) for name in ApiKeyRow.__dataclass_fields__})


def get(tx: Connection, prefix: str) -> ApiKeyRow | None:
    """A key; None when there is none of this prefix."""
    found = tx.execute(sa.select(api_keys).where(_C.prefix == prefix)).mappings().first()
    return make(ApiKeyRow, found) if found else None


def listing(tx: Connection, project_id: str | None = None) -> list[ApiKeyRow]:
    """The keys of a project, or all; oldest first."""
    query = sa.select(api_keys).order_by(_C.created_at, _C.prefix)
    if project_id is not None:
        query = query.where(_C.project_id == project_id)
    return [make(ApiKeyRow, found) for found in tx.execute(query).mappings()]


def by_maker(tx: Connection, created_by: str, project_id: str | None = None) -> list[ApiKeyRow]:
    """The keys, not revoked, that a subject made in a project, or in all."""
    query = sa.select(api_keys).where(_C.created_by == created_by, _C.revoked_at.is_(None))
    if project_id is not None:
        query = query.where(_C.project_id == project_id)
    return [make(ApiKeyRow, found) for found in tx.execute(query).mappings()]


def revoke(tx: Connection, prefix: str) -> bool:
    """Refuse a key from now on; False when it was revoked before or is not there."""
    where = (_C.prefix == prefix, _C.revoked_at.is_(None))
    return bool(tx.execute(sa.update(api_keys).where(*where).values(revoked_at=iso(utcnow()))).rowcount)


def used(tx: Connection, prefix: str, now: str) -> None:
    """Note a use of a key; an earlier time never replaces a later one."""
    where = (_C.prefix == prefix, sa.or_(_C.used_at.is_(None), _C.used_at < now))
    tx.execute(sa.update(api_keys).where(*where).values(used_at=now))
