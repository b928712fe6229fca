"""The person whom a single sign-on tells of, inside a transaction."""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.errors import InvalidRequest, NotFound
from everloop.service._email import checked_email
from everloop.service._membership import NOTHING, put, unknown
from everloop.service.keys import revoke_beyond
from everloop.service.permissions import Role
from everloop.store import members, projects, users
from everloop.store.users import UserRow

SHOWN = "Somebody"
"""Name of a person of whom none is known."""
NAME = 256
"""Most characters of a name."""


def from_oidc(
    tx: Connection, known_as: tuple[str, str], email: str | None, name: str, role: Role | None, project_id: str
) -> str | None:
    """The id of the person, made or brought up to date; None when they may not in. `known_as`: issuer, subject."""
    user = _known_as(tx, known_as, email, name)
    if projects.get(tx, project_id) is None:
        raise NotFound(f"project {project_id!r:.140} is not known", then="Set EVERLOOP_OIDC_PROJECT")
    if user.disabled_at is not None:
        return None
    if role is None:
        members.remove(tx, project_id, user.user_id)
        revoke_beyond(tx, user.user_id, NOTHING, project_id)
        return None
    member = members.get(tx, project_id, user.user_id)
    if member is None or member.role != role:
        put(tx, project_id, user.user_id, role)
    return user.user_id


def _known_as(tx: Connection, known_as: tuple[str, str], email: str | None, name: str) -> UserRow:
    """The person of an issuer's subject, made when there is none yet, locked, with the name and address of today."""
    issuer, subject = known_as
    if not (0 < len(issuer) <= 512 and 0 < len(subject) <= 256 and issuer.isprintable() and subject.isprintable()):
        raise InvalidRequest("the single sign-on named nobody whom this server can keep")
    users.create(tx, users.new_id(), name=SHOWN, issuer=issuer, issuer_subject=subject)
    user = users.by_issuer(tx, issuer, subject)
    user = None if user is None else users.get(tx, user.user_id, lock=True)
    if user is None:
        raise unknown()
    address = None if email is None else checked_email(email)
    taken = None if address is None else users.by_email(tx, address)
    free = taken is None or taken.user_id == user.user_id
    shown = "".join(one for one in name if one.isprintable())[:NAME] or address or SHOWN
    users.update(tx, user.user_id, name=shown, email=address if free else None)
    return user
