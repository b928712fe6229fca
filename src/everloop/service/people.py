"""People: who may sign in, and what they are in which project."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from everloop.errors import AccessDenied, InvalidRequest, NotFound, ProjectAccessDenied, StateConflict
from everloop.events import Json
from everloop.service import _passwords
from everloop.service._email import EMAIL, checked_email
from everloop.service._membership import NOTHING, begin, check_last, person, put, unknown
from everloop.service._single_sign_on_person import from_oidc
from everloop.service._transactions import reading, writing
from everloop.service.caller import PROJECT, Caller
from everloop.service.installation import Installation
from everloop.service.keys import revoke_beyond
from everloop.service.permissions import Permission, Role
from everloop.store import members as enrolled
from everloop.store import projects, sessions, sign_in_links, users
from everloop.store.members import MemberRow
from everloop.store.users import UserRow
from everloop.values import iso, utcnow

CANDIDATES = 20
"""Most people that a search for new members finds."""
NAME = 256
"""Most characters of a name."""


def create_user(installation: Installation, email: str, name: str, password: str | None, caller: Caller) -> UserRow:
    """A new person, so far a member of nothing; without a password a link or single sign-on signs them in.

    StateConflict when the e-mail address is taken.
    """
    caller.require(Permission.MANAGE)
    address = checked_email(email)
    stored = None if password is None else _passwords.hashed(password)
    user_id = users.new_id()

    def write(tx: Connection) -> UserRow:
        if not users.create(tx, user_id, name=_name(name) or address, email=address, password=stored):
            raise StateConflict(f"somebody has the e-mail address {address} already", then="Make them a member")
        return person(tx, user_id)

    return writing(installation, write)


def find(installation: Installation, who: str, caller: Caller) -> UserRow:
    """The person of this user id or e-mail address; for this machine's account only. NotFound without them."""
    _local(caller)
    address = who.strip().lower()

    def read(tx: Connection) -> UserRow:
        found = (users.get(tx, who) or users.by_email(tx, address)) if who.isprintable() else None
        if found is None:
            raise unknown()
        return found

    return reading(installation, read)


def set_password(installation: Installation, user_id: str, password: str, caller: Caller) -> None:
    """Give a person another password, and sign them out everywhere; for themselves and this machine's account."""
    if caller.subject != f"user:{user_id}":
        _local(caller)
    stored = _passwords.hashed(password)

    def write(tx: Connection) -> None:
        person(tx, user_id, lock=True)
        users.update(tx, user_id, password=stored)
        _sign_out(tx, user_id)

    writing(installation, write)


def disable_user(installation: Installation, user_id: str, caller: Caller) -> None:
    """Have a person sign in no more, sign them out and revoke the keys they made; for this machine's account only."""
    _local(caller)

    def write(tx: Connection) -> None:
        user = person(tx, user_id, lock=True)
        if user.disabled_at is None:
            users.update(tx, user_id, disabled_at=iso(utcnow()))
        _sign_out(tx, user_id)
        revoke_beyond(tx, user_id, NOTHING)

    writing(installation, write)


def enable_user(installation: Installation, user_id: str, caller: Caller) -> None:
    """Let a disabled person sign in again; keys that were revoked stay so. For this machine's account only."""
    _local(caller)

    def write(tx: Connection) -> None:
        person(tx, user_id, lock=True)
        users.update(tx, user_id, disabled_at=None)

    writing(installation, write)


def set_member(
    installation: Installation, project_id: str, user_id: str, role: Role | str, caller: Caller
) -> MemberRow:
    """Make a person a member of the caller's project, or give them another role there.

    Keys they made that may do more than the new role are revoked. StateConflict when it would leave no Admin.
    """
    chosen = checked_role(role)
    _check_project(caller, project_id)

    def write(tx: Connection) -> MemberRow:
        begin(tx, project_id, user_id)
        if chosen is not Role.ADMIN:
            check_last(tx, project_id, user_id, caller)
        return put(tx, project_id, user_id, chosen)

    return writing(installation, write)


def remove_member(installation: Installation, project_id: str, user_id: str, caller: Caller) -> None:
    """End a membership and revoke the keys the person made there; nothing changes when they are no member.

    StateConflict when it would leave no Admin.
    """
    _check_project(caller, project_id)

    def write(tx: Connection) -> None:
        begin(tx, project_id, user_id)
        check_last(tx, project_id, user_id, caller)
        enrolled.remove(tx, project_id, user_id)
        revoke_beyond(tx, user_id, NOTHING, project_id)

    writing(installation, write)


def members(installation: Installation, caller: Caller, project_id: str | None = None) -> list[MemberRow]:
    """The members of the caller's project, longest there first."""
    caller.require(Permission.READ)
    wanted = project_id or (PROJECT if caller.sees_all else caller.project_id)
    _check_own(caller, wanted)

    def read(tx: Connection) -> list[MemberRow]:
        if projects.get(tx, wanted) is None:
            raise NotFound(f"project {wanted!r:.140} is not known")
        return enrolled.listing(tx, wanted)

    return reading(installation, read)


def candidates(installation: Installation, caller: Caller, q: str) -> list[UserRow]:
    """Up to 20 people with `q` in their name or e-mail address who are no members of the caller's project."""
    caller.require(Permission.MANAGE)
    if not q.isprintable() or len(q) > EMAIL:
        raise InvalidRequest("this search cannot be accepted", why=f"up to {EMAIL} printable characters")
    return reading(installation, lambda tx: users.outside(tx, caller.project_id, q, CANDIDATES))


def user_from_oidc(
    installation: Installation,
    issuer: str,
    subject: str,
    email: str | None,
    name: str,
    role: Role | None,
    project_id: str,
) -> str:
    """The id of the person whom a single sign-on tells of, made or brought up to date, with that role in a project.

    A person is known by issuer and subject alone: an e-mail address that another account has stays with that account,
    as who may name an address at the issuer must not get into it. Without a role the membership ends and AccessDenied
    is raised; also for a person who was disabled.
    """

    def write() -> str | None:
        return writing(installation, lambda tx: from_oidc(tx, (issuer, subject), email, name, role, project_id))

    try:
        user_id = write()
    except IntegrityError:  # somebody took the e-mail address at the same moment; now it is seen to be taken
        user_id = write()
    if user_id is None:
        raise AccessDenied("this account may not use the project", then="Ask its owner to give you a role")
    return user_id


def member_json(row: MemberRow) -> Json:
    """A member as a document."""
    return {
        "user_id": row.user_id,
        "email": row.email,
        "name": row.name,
        "role": row.role,
        "project_id": row.project_id,
        "created_at": row.created_at,
        "disabled_at": row.disabled_at,
    }


def user_json(row: UserRow) -> Json:
    """A person as a document, without their password's hash."""
    return {"user_id": row.user_id, "email": row.email, "name": row.name, "disabled_at": row.disabled_at}


def checked_role(role: str) -> Role:
    """A role by its name. InvalidRequest for one that is not known."""
    if role not in set(Role):
        raise InvalidRequest(f"role {role!r:.40} is not known", then=f"Known: {', '.join(Role)}")
    return Role(role)


def _check_project(caller: Caller, project_id: str) -> None:
    caller.require(Permission.MANAGE)
    _check_own(caller, project_id)


def _check_own(caller: Caller, project_id: str) -> None:
    if not caller.sees_all and project_id != caller.project_id:
        raise ProjectAccessDenied("this is not your project", then="Leave the project out, or choose it first")


def _local(caller: Caller) -> None:
    if not caller.sees_all:
        raise AccessDenied("this is done on the server's command line", why=f"you are {caller.subject}")


def _sign_out(tx: Connection, user_id: str) -> None:
    sessions.revoke_all(tx, user_id)
    sign_in_links.withdraw(tx, user_id)


def _name(name: str) -> str:
    if len(name) > NAME or not name.isprintable():
        raise InvalidRequest("this name cannot be accepted", why=f"up to {NAME} printable characters")
    return name.strip()
