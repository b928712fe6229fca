"""Workspaces: what projects are grouped in."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_once, make
from everloop.store.tables import workspaces
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """A workspace as the store holds it."""

    workspace_id: str
    """Its id, unique in the installation."""
    name: str
    """What people call it."""
    created_at: str
    """ISO time."""


def create(tx: Connection, workspace_id: str, name: str) -> bool:
    """Store a new workspace; False when the id is taken."""
    return insert_once(tx, workspaces, {"workspace_id": workspace_id, "name": name, "created_at": iso(utcnow())})


def get(tx: Connection, workspace_id: str) -> WorkspaceRow | None:
    """A workspace; None when there is none of this id."""
    query = sa.select(workspaces).where(workspaces.c.workspace_id == workspace_id)
    found = tx.execute(query).mappings().first()
    return make(WorkspaceRow, found) if found else None


def listing(tx: Connection) -> list[WorkspaceRow]:
    """All workspaces, oldest first."""
    query = sa.select(workspaces).order_by(workspaces.c.created_at, workspaces.c.workspace_id)
    return [make(WorkspaceRow, found) for found in tx.execute(query).mappings()]
