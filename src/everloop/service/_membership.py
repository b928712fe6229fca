"""Changing who is what in a project, inside a transaction."""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.errors import NotFound, StateConflict
from everloop.service.caller import Caller
from everloop.service.keys import revoke_beyond
from everloop.service.permissions import OF_ROLE, Permission, Role
from everloop.store import members, projects, users
from everloop.store.members import MemberRow
from everloop.store.users import UserRow

NOTHING: frozenset[Permission] = frozenset()
"""What somebody may do who may do nothing."""


def begin(tx: Connection, project_id: str, user_id: str) -> None:
    """Lock the project's membership and the person, in this order everywhere."""
    if projects.get(tx, project_id, lock=True) is None:
        raise NotFound(f"project {project_id!r:.140} is not known")
    person(tx, user_id, lock=True)


def put(tx: Connection, project_id: str, user_id: str, role: Role) -> MemberRow:
    """Give a person a role, and revoke the keys they made there that may do more."""
    members.put(tx, project_id, user_id, role)
    revoke_beyond(tx, user_id, OF_ROLE[role], project_id)
    found = members.get(tx, project_id, user_id)
    if found is None:
        raise unknown()
    return found


def check_last(tx: Connection, project_id: str, user_id: str, caller: Caller) -> None:
    """That an Admin remains; this machine's account can always make one."""
    if caller.sees_all:
        return
    admins = [one.user_id for one in members.listing(tx, project_id) if one.role == Role.ADMIN and not one.disabled_at]
    if admins == [user_id]:
        raise StateConflict("this is the project's last Admin", then="Make somebody else Admin first")


def person(tx: Connection, user_id: str, *, lock: bool = False) -> UserRow:
    """A person. NotFound without them."""
    found = users.get(tx, user_id, lock=lock) if user_id.isprintable() else None
    if found is None:
        raise unknown()
    return found


def unknown() -> NotFound:
    """The refusal of a person who is not known."""
    return NotFound("there is no such person", then="Make them a member with `el member add`")
