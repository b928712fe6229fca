"""Versions of a run: v0, then each certified candidate."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.events import Json
from everloop.store._sql import insert_once, make
from everloop.store.tables import versions
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as the store holds it."""

    version: str
    """``v0``, ``v1``, ..."""
    parent: str | None
    """Version it was certified against; None for v0."""
    round: int | None
    """Round of its certification; None for v0."""
    candidate: str | None
    """Candidate it was; None for v0."""
    rows: int | None
    """Rows of its last training."""
    artifact: Json
    """Type, path and hash."""
    at: str
    """ISO time."""


def put(
    tx: Connection,
    run: str,
    version: str,
    *,
    parent: str | None,
    round: int | None,  # noqa: A002
    candidate: str | None,
    rows: int | None,
    artifact: Json,
) -> None:
    """Record a version; nothing changes when it is there."""
    values = {"run": run, "ordinal": int(version[1:]), "version": version, "parent": parent, "round": round}
    values |= {"candidate": candidate, "rows": rows, "artifact": artifact, "at": iso(utcnow())}
    insert_once(tx, versions, values)


def get(tx: Connection, run: str, version: str) -> VersionRow | None:
    """A version; None when there is none of that name."""
    query = sa.select(versions).where(versions.c.run == run, versions.c.ordinal == int(version[1:]))
    found = tx.execute(query).mappings().first()
    return make(VersionRow, found) if found else None


def listing(tx: Connection, run: str) -> list[VersionRow]:
    """All versions, oldest first."""
    query = sa.select(versions).where(versions.c.run == run).order_by(versions.c.ordinal)
    return [make(VersionRow, found) for found in tx.execute(query).mappings()]
