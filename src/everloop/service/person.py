"""Who is signed in, and what they are where."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from everloop.errors import AccessDenied
from everloop.service._transactions import reading
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Role
from everloop.store import members, projects, users


@dataclass(frozen=True, slots=True)
class Membership:
    """What a person is in one project."""

    project_id: str
    """The project."""
    name: str
    """What people call it."""
    workspace_id: str
    """Workspace it is in."""
    role: Role
    """What the person is there."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person who signed in."""

    user_id: str
    """Their id."""
    name: str
    """What they are called."""
    email: str | None
    """Their e-mail address; None without one."""
    memberships: tuple[Membership, ...]
    """The projects they are members of, oldest first."""


def person_of(installation: Installation, caller: Caller) -> Person:
    """The person of a session. AccessDenied for a key, which is nobody's."""
    if caller.method != "session":
        raise AccessDenied("only a person who signed in has a page of their own")
    user_id = caller.subject.removeprefix("user:")

    def read(tx: Connection) -> Person:
        user = users.get(tx, user_id)
        if user is None:
            raise AccessDenied("this person is not known any more")
        roles = {row.project_id: Role(row.role) for row in members.of_user(tx, user_id)}
        found = tuple(
            Membership(row.project_id, row.name, row.workspace_id, roles[row.project_id])
            for row in projects.of_user(tx, user_id)
            if row.project_id in roles
        )
        return Person(user_id, user.name, user.email, found)

    return reading(installation, read)
