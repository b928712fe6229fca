"""The audit log: who did or was refused what; rows are only ever added."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import audit
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is recorded of one action."""

    workspace_id: str | None
    """Workspace it happened in; None: nobody was known."""
    project_id: str | None
    """Project it happened in; None: nobody was known."""
    subject: str | None
    """Who; None: nobody was known."""
    surface: str
    """By which way: ``api``, ``mcp``, ``console``, ``cli``."""
    action: str
    """What was asked for."""
    target: str | None
    """On what; None: on nothing in particular."""
    status: int
    """HTTP status of the answer, also where none was sent."""
    code: str | None
    """Error code of a refusal; None: it was done."""
    request_id: str | None
    """Id of the request, as logs show it."""
    address: str | None
    """Address the request came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(Entry):
    """A row of the log."""

    id: int
    """Place in the log; grows."""
    at: str
    """ISO time."""


def add(tx: Connection, entry: Entry) -> None:
    """Add a row."""
    values = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
    tx.execute(sa.insert(audit).values(at=iso(utcnow()), **values))


def listing(tx: Connection, project_id: str | None, before: int | None, limit: int) -> list[AuditRow]:
    """Rows of a project, or of all and of nobody; newest first, with an id under `before`."""
    query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
    if project_id is not None:
        query = query.where(audit.c.project_id == project_id)
    if before is not None:
        query = query.where(audit.c.id < before)
    return [make(AuditRow, found) for found in tx.execute(query).mappings()]
