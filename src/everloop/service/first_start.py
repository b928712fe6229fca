"""What a new installation starts with: a workspace, a project, and its owner as that project's Admin."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from everloop.service._transactions import reading, writing
from everloop.service.caller import PROJECT, WORKSPACE
from everloop.service.installation import Installation
from everloop.service.permissions import Role
from everloop.store import members, projects, users, workspaces

OWNER = "owner"
"""Id of the person whom a new installation starts with; no password, so a one-time link signs them in."""


@dataclass(frozen=True, slots=True)
class First:
    """The workspace, project and person of a new installation."""

    workspace_id: str = WORKSPACE
    """The first workspace."""
    project_id: str = PROJECT
    """The first project."""
    user_id: str = OWNER
    """The owner."""


def ensure(installation: Installation) -> First:
    """Make what is missing. Idempotent, and safe when two processes do it at once.

    A membership that was taken from the owner later is not given back.
    """
    if not reading(installation, _complete):
        writing(installation, _create)
    return First()


def _complete(tx: Connection) -> bool:
    found = (workspaces.get(tx, WORKSPACE), projects.get(tx, PROJECT), users.get(tx, OWNER))
    return None not in found


def _create(tx: Connection) -> None:
    workspaces.create(tx, WORKSPACE, "Local")
    projects.create(tx, PROJECT, WORKSPACE, "Local")
    if users.create(tx, OWNER, name="Owner"):
        members.put(tx, PROJECT, OWNER, Role.ADMIN)
