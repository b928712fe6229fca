"""Keys of projects: make, list, revoke. Nobody gives a key what they may not do themselves."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from everloop import tokens
from everloop.errors import AccessDenied, InvalidRequest, NotFound, ProjectAccessDenied, StateConflict
from everloop.events import Json
from everloop.service._transactions import reading, writing
from everloop.service.access import granted_prefix, key_prefix
from everloop.service.caller import PROJECT, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import OF_KIND, OF_ROLE, KeyKind, Permission, Role, permissions
from everloop.store import api_keys, members, projects, users
from everloop.store.api_keys import ApiKeyRow
from everloop.store.projects import ProjectRow
from everloop.values import iso, utcnow

MAX_DAYS = 3650.0
"""Longest life of a key that expires."""
NAME = 128
"""Most characters of a key's name."""


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a new key is to be."""

    name: str = ""
    """What it is for; up to 128 printable characters."""
    kind: KeyKind = KeyKind.AUTOMATION
    """Its kind, which says what it may do."""
    permissions: Collection[str] = ()
    """What a custom key may do; for the other kinds, none."""
    expires_days: float | None = None
    """Days after which it is refused, above 0; None: it does not expire."""


def create_key(
    installation: Installation, request: KeyRequest, caller: Caller, project_id: str | None = None
) -> tuple[str, ApiKeyRow]:
    """A new key of the caller's project and its row; the key is returned here and never again.

    `project_id`: another project, for this machine's account only. InvalidRequest, AccessDenied, ProjectAccessDenied
    or NotFound when it cannot be made as asked.
    """
    caller.require(Permission.MANAGE)
    may = _checked(request)
    _own(caller, project_id)
    minted = tokens.mint(tokens.API)

    def write(tx: Connection) -> ApiKeyRow:
        project = _project(tx, caller, project_id or (PROJECT if caller.sees_all else caller.project_id))
        # an earlier try may have stored it, and its answer was lost: nobody else has this key
        return _store(tx, minted.prefix, minted.hash, project, request, may, caller, again=True)

    return minted.key, writing(installation, write)


def add_granted(tx: Connection, key_hash: str, caller: Caller, request: KeyRequest) -> ApiKeyRow:
    """Store a key that a client made for itself and its owner approved, inside the transaction of the approval.

    `key_hash`: SHA-256 hex of the key. It may do what the request says and the caller may as well, except managing
    the project. AccessDenied when nothing is left; StateConflict for a key that is there already.
    """
    wanted = _checked(request)
    may = wanted & caller.permissions
    if not may:
        raise AccessDenied("you may do nothing in this project that a key could do", why=f"as {caller.subject}")
    project = _project(tx, caller, caller.project_id)
    return _store(tx, granted_prefix(key_hash), key_hash, project, request, may, caller)


def list_keys(installation: Installation, caller: Caller, project_id: str | None = None) -> list[ApiKeyRow]:
    """The keys of the caller's project, oldest first; for this machine's account of a named project, or all."""
    caller.require(Permission.MANAGE)
    _own(caller, project_id)
    wanted = project_id if caller.sees_all else caller.project_id
    return reading(installation, lambda tx: api_keys.listing(tx, wanted))


def revoke_key(installation: Installation, prefix: str, caller: Caller) -> ApiKeyRow:
    """Refuse a key of the caller's project from its next request on; one that was revoked before stays so.

    `prefix`: the key's public part, ``elk_PREFIX`` or the whole key. NotFound without it.
    """
    caller.require(Permission.MANAGE)
    found = key_prefix(prefix) or prefix

    def write(tx: Connection) -> ApiKeyRow:
        _seen(tx, found, caller)
        api_keys.revoke(tx, found)
        return _seen(tx, found, caller)

    return writing(installation, write)


def revoke_beyond(tx: Connection, user_id: str, may: frozenset[Permission], project_id: str | None = None) -> None:
    """Revoke the keys that a person made, in a project or in all, and that may do more than `may`."""
    for row in api_keys.by_maker(tx, f"user:{user_id}", project_id):
        if not set(row.permissions) <= set(may):
            api_keys.revoke(tx, row.prefix)


def state_of(row: ApiKeyRow) -> str:
    """``active``, ``expired`` or ``revoked``."""
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= str(iso(utcnow())) else "active"


def key_json(row: ApiKeyRow) -> Json:
    """A key as a document, without its hash."""
    return {
        "prefix": row.prefix,
        "name": row.name,
        "kind": row.kind,
        "permissions": [*row.permissions],
        "workspace_id": row.workspace_id,
        "project_id": row.project_id,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "used_at": row.used_at,
        "state": state_of(row),
    }


def _checked(request: KeyRequest) -> frozenset[Permission]:
    """What the key is to be allowed. InvalidRequest for a request that cannot be accepted."""
    if len(request.name) > NAME or not request.name.isprintable():
        raise InvalidRequest("this name cannot be accepted", why=f"up to {NAME} printable characters")
    if request.expires_days is not None and not 0 < request.expires_days <= MAX_DAYS:
        raise InvalidRequest(f"{request.expires_days} is no life of a key", why=f"above 0, up to {MAX_DAYS:g} days")
    if request.kind is not KeyKind.CUSTOM:
        if request.permissions:
            raise InvalidRequest(
                f"a key of the kind {request.kind} names no permissions", then="Make a custom key to choose them"
            )
        return OF_KIND[request.kind]
    chosen = permissions(request.permissions)
    if not chosen:
        raise InvalidRequest("a custom key needs a permission", then=f"Known: {', '.join(sorted(_GIVEN))}")
    if Permission.MANAGE in chosen:
        raise InvalidRequest(f"no key gets {Permission.MANAGE}", why="keys and members are managed by people")
    return chosen


_GIVEN = frozenset(Permission) - {Permission.MANAGE}


def _store(
    tx: Connection,
    prefix: str,
    key_hash: str,
    project: ProjectRow,
    request: KeyRequest,
    may: frozenset[Permission],
    caller: Caller,
    *,
    again: bool = False,
) -> ApiKeyRow:
    """Store a key; StateConflict when there is one. `again`: the very same one is no conflict."""
    for permission in may:
        caller.require(permission)
    _check_still(tx, caller, project.project_id, may)
    now = utcnow()
    row = ApiKeyRow(
        prefix=prefix,
        hash=key_hash,
        workspace_id=project.workspace_id,
        project_id=project.project_id,
        name=request.name,
        kind=str(request.kind),
        permissions=sorted(str(one) for one in may),
        created_by=caller.subject,
        created_at=str(iso(now)),
        expires_at=_expiry(now, request.expires_days),
        revoked_at=None,
        used_at=None,
    )
    if not api_keys.create(tx, row):
        found = api_keys.get(tx, prefix) if again else None
        if found is not None and hmac.compare_digest(found.hash, key_hash):
            return found
        raise StateConflict("there is a key of this prefix already", then="Try again with a new one")
    return row


def _check_still(tx: Connection, caller: Caller, project_id: str, may: frozenset[Permission]) -> None:
    """That nobody removed the maker meanwhile: their keys were revoked then, and this one would be left."""
    if caller.method != "session":
        return
    user_id = caller.subject.removeprefix("user:")
    user, member = users.get(tx, user_id, lock=True), members.get(tx, project_id, user_id)
    if user is None or user.disabled_at is not None or member is None or not may <= OF_ROLE[Role(member.role)]:
        raise AccessDenied("you may not do this in this project any more")


def _expiry(now: datetime, days: float | None) -> str | None:
    return None if days is None else iso(now + timedelta(days=days))


def _own(caller: Caller, project_id: str | None) -> None:
    if project_id is not None and project_id != caller.project_id and not caller.sees_all:
        raise ProjectAccessDenied("this is not your project", then="Leave the project out, or choose it first")


def _project(tx: Connection, caller: Caller, project_id: str) -> ProjectRow:
    found = projects.get(tx, project_id)
    if found is None:
        what = f"project {project_id:.128} is not known"
        raise NotFound(what, then="List the projects there are with `el project list`" if caller.sees_all else "")
    return found


def _seen(tx: Connection, prefix: str, caller: Caller) -> ApiKeyRow:
    row = api_keys.get(tx, prefix) if prefix.isalnum() and prefix.isascii() else None
    if row is None or not (caller.sees_all or row.project_id == caller.project_id):
        raise NotFound("there is no such key", then="List the keys there are")
    return row
