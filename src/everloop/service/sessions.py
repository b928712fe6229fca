"""Signing in and out: with a password, with a one-time link, or after single sign-on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from everloop import tokens
from everloop.errors import InvalidRequest, NotFound, ProjectAccessDenied, Unauthorized
from everloop.service import _passwords
from everloop.service._transactions import reading, writing
from everloop.service.access import marked_prefix, unauthorized
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import OF_ROLE, Role
from everloop.store import members, projects, sessions, sign_in_links, users
from everloop.store.sessions import SessionRow
from everloop.store.sign_in_links import LinkRow
from everloop.values import iso, utcnow

LINK_MINUTES = (1, 24 * 60)
"""Least and most minutes that a one-time link works."""
TRIES = 3
"""How often a password is checked when the stored one changes meanwhile."""


def sign_in(installation: Installation, email: str, password: str) -> tuple[str, SessionRow]:
    """A session for a person with a password; its token is returned here and never again.

    Unauthorized, in the same words and time, for a wrong e-mail address, a wrong password or a disabled person. A
    password that was changed while it was being checked is checked anew: what was set meanwhile counts.
    """
    _passwords.prepare()
    address = email.strip().lower()
    for _ in range(TRIES):
        user = None if not _clean(address) else reading(installation, lambda tx: users.by_email(tx, address))
        good = _passwords.verified(password, None if user is None else user.password)
        if user is None or user.password is None or not good or user.disabled_at is not None:
            break
        begun = _begin_verified(installation, user.user_id, password, user.password)
        if begun is not None:
            return begun
    raise _refused()


def sign_in_user(installation: Installation, user_id: str) -> tuple[str, SessionRow]:
    """A session for a person who was identified otherwise. Unauthorized when they are disabled or not known."""
    return writing(installation, lambda tx: _begin(tx, installation, user_id))


def sign_out(installation: Installation, token: str) -> None:
    """End a session; nothing changes when it ended before or is not known."""

    def write(tx: Connection) -> None:
        row = _session(tx, token)
        if row is not None:
            sessions.revoke(tx, row.prefix)

    writing(installation, write)


def choose_project(installation: Installation, token: str, project_id: str) -> None:
    """Have a session look at another project of its person. ProjectAccessDenied when they are no member there."""

    def write(tx: Connection) -> None:
        row = _session(tx, token)
        if row is None or row.revoked_at is not None or row.expires_at <= str(iso(utcnow())):
            raise unauthorized()
        if not _clean(project_id) or members.get(tx, project_id, row.user_id) is None:
            raise _no_member()
        sessions.choose(tx, row.prefix, project_id)

    writing(installation, write)


def acting_in(installation: Installation, caller: Caller, project_id: str) -> Caller:
    """A signed-in person as they act in another project of theirs, for one deed: their session stays where it is.

    ProjectAccessDenied when they are no member there.
    """
    user_id = caller.subject.removeprefix("user:")

    def read(tx: Connection) -> Caller:
        project = projects.get(tx, project_id) if caller.method == "session" and _clean(project_id) else None
        member = None if project is None else members.get(tx, project.project_id, user_id)
        if project is None or member is None:
            raise _no_member()
        may = OF_ROLE[Role(member.role)]
        return replace(caller, workspace_id=project.workspace_id, project_id=project.project_id, permissions=may)

    return reading(installation, read)


def make_link(installation: Installation, user_id: str, minutes: float = 10) -> str:
    """A token that signs a person in once, within so many minutes. NotFound without the person, or a disabled one."""
    if not LINK_MINUTES[0] <= minutes <= LINK_MINUTES[1]:
        raise InvalidRequest(
            f"{minutes} is no life of a link", why=f"it is {LINK_MINUTES[0]} to {LINK_MINUTES[1]} minutes"
        )
    minted, now = tokens.mint(tokens.LINK), utcnow()
    row = LinkRow(minted.prefix, minted.hash, user_id, str(iso(now)), str(iso(now + timedelta(minutes=minutes))), None)

    def write(tx: Connection) -> None:
        user = users.get(tx, user_id, lock=True)
        if user is None or user.disabled_at is not None:
            raise NotFound("there is no such person, or they were disabled")
        sign_in_links.create(tx, row)

    writing(installation, write)
    return minted.key


def use_link(installation: Installation, token: str) -> str:
    """The token of a session for the person of a one-time link. Unauthorized for one that is not good any more."""
    prefix = marked_prefix(token, tokens.LINK)
    if not prefix:
        raise unauthorized()

    def write(tx: Connection) -> str:
        row = sign_in_links.get(tx, prefix)
        good = tokens.matches(token, None if row is None else row.hash)
        if row is None or not good or not sign_in_links.use(tx, prefix):
            raise unauthorized()
        return _begin(tx, installation, row.user_id)[0]

    return writing(installation, write)


def _begin_verified(
    installation: Installation, user_id: str, password: str, verified: str
) -> tuple[str, SessionRow] | None:
    """A session for who gave the password of the hash `verified`; None when the stored one is another by now.

    It is compared on the locked row, so no session outlives a reset that ended the others. A hash of other parameters
    than are in use now is replaced there too.
    """
    renewed = _passwords.hashed(password) if _passwords.outdated(verified) else None

    def write(tx: Connection) -> tuple[str, SessionRow] | None:
        user = users.get(tx, user_id, lock=True)
        if user is None or user.password != verified:
            return None
        if renewed is not None:
            users.update(tx, user_id, password=renewed)
        return _begin(tx, installation, user_id)

    return writing(installation, write)


def _begin(tx: Connection, installation: Installation, user_id: str) -> tuple[str, SessionRow]:
    user = users.get(tx, user_id, lock=True)
    if user is None or user.disabled_at is not None:
        raise _refused()
    minted, now = tokens.mint(tokens.SESSION), utcnow()
    first = next(iter(members.of_user(tx, user_id)), None)
    row = SessionRow(
        prefix=minted.prefix,
        hash=minted.hash,
        user_id=user_id,
        project_id=None if first is None else first.project_id,
        created_at=str(iso(now)),
        expires_at=str(iso(now + timedelta(hours=installation.settings.session_hours))),
        revoked_at=None,
        used_at=None,
    )
    sessions.create(tx, row)
    return minted.key, row


def _session(tx: Connection, token: str) -> SessionRow | None:
    """The session of a token; None when there is none."""
    prefix = marked_prefix(token, tokens.SESSION)
    row = sessions.get(tx, prefix) if prefix else None
    return row if tokens.matches(token, None if row is None else row.hash) else None


def _refused() -> Unauthorized:
    return Unauthorized("the e-mail address or the password is wrong", then="Try again, or ask an Admin for a link")


def _no_member() -> ProjectAccessDenied:
    return ProjectAccessDenied("you are no member of this project", then="Ask one of its Admins")


def _clean(text: str) -> bool:
    """Whether the database can look for it."""
    return bool(text) and text.isprintable()
