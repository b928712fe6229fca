"""Projects: what keys, members, runs and jobs belong to."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import insert_once, make
from everloop.store.tables import members, projects
from everloop.values import iso, utcnow

_OLDEST = (projects.c.created_at, projects.c.project_id)


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project as the store holds it."""

    project_id: str
    """Its id, unique in the installation."""
    workspace_id: str
    """Workspace it is in."""
    name: str
    """What people call it."""
    created_at: str
    """ISO time."""


def create(tx: Connection, project_id: str, workspace_id: str, name: str) -> bool:
    """Store a new project; False when the id is taken."""
    values = {"project_id": project_id, "workspace_id": workspace_id, "name": name, "created_at": iso(utcnow())}
    return insert_once(tx, projects, values)


def get(tx: Connection, project_id: str, *, lock: bool = False) -> ProjectRow | None:
    """A project; None when there is none of this id. `lock`: its members change in one transaction at a time."""
    query = sa.select(projects).where(projects.c.project_id == project_id)
    found = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return make(ProjectRow, found) if found else None


def listing(tx: Connection) -> list[ProjectRow]:
    """All projects, oldest first."""
    return [make(ProjectRow, found) for found in tx.execute(sa.select(projects).order_by(*_OLDEST)).mappings()]


def of_user(tx: Connection, user_id: str) -> list[ProjectRow]:
    """The projects a person is a member of, oldest first."""
    query = sa.select(projects).join(members, members.c.project_id == projects.c.project_id)
    query = query.where(members.c.user_id == user_id).order_by(*_OLDEST)
    return [make(ProjectRow, found) for found in tx.execute(query).mappings()]
