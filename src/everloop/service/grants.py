"""Grants: a command line asks to be let in, a signed-in person enters its code and approves.

The command line makes its key itself and sends only hashes; approving stores the key's hash, so the key works from then
on and was never on the wire before. Since the server does not know the key, its public prefix is of the hash.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from everloop import tokens
from everloop.errors import AccessDenied, GrantExpired, InvalidRequest, NotFound, StateConflict
from everloop.events import Json, JsonValue
from everloop.service import keys
from everloop.service._transactions import reading, writing
from everloop.service.access import granted_prefix
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import OF_KIND, KeyKind, Permission
from everloop.store import api_keys, grants
from everloop.store.database import Database
from everloop.store.grants import APPROVED, CANCELLED, DENIED, PENDING, GrantRow
from everloop.values import iso, utcnow

SECONDS = 600
"""How long a person has to decide."""
INTERVAL = 2
"""Seconds that a command line waits between two polls."""
KEY_DAYS = 30
"""Life of a key that was let in."""
MISSES = 5
"""Wrong confirmation codes after which a grant is denied."""
WAITING = 1000
"""Grants that may wait at once; starting one needs no key, so the oldest gives way rather than the newest."""
EACH = 20
"""Grants of one address that may wait at once; beyond it the oldest of its own gives way."""
KEPT_HOURS = 24
"""How long an expired grant is kept."""
NAME = "command line"
"""Name of the keys made so."""

_BACK = "Go back to the command line, or start it again there"
_HASH = re.compile("[0-9a-f]{64}")
_GRANT = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def start(installation: Installation, body: JsonValue, origin: str, address: str = "") -> Json:
    """Note that a command line waits: its grant, and the page under `origin` where a person decides.

    `address`: where it was asked from, or the network that counts as one. When too many wait, of one address or in
    all, the oldest of them is cancelled: to refuse the newcomer would let one stranger keep everybody out.
    InvalidRequest for anything but three SHA-256 hashes.
    """
    found = _texts(body, ("key_hash", "poll_hash", "code_hash"))
    for name, value in found.items():
        if not _HASH.fullmatch(value):
            raise InvalidRequest(f"{name} must be a SHA-256 hash", why="64 lowercase hex digits are expected")
    now = utcnow()
    row = GrantRow(
        grant_id=str(uuid.uuid4()),
        **found,
        state=PENDING,
        workspace_id=None,
        project_id=None,
        user_id=None,
        created_at=_at(now),
        expires_at=_at(now + timedelta(seconds=SECONDS)),
        decided_at=None,
    )
    crowded = _waiting_room.enter(installation.database, address, row.grant_id) if address else []
    writing(installation, lambda tx: _add(tx, row, crowded))
    page = f"{origin}/sign-in?cli_login={row.grant_id}"
    return {"grant_id": row.grant_id, "verification_uri": page, "interval": INTERVAL, "expires_in": SECONDS}


def poll(installation: Installation, body: JsonValue) -> Json:
    """What became of the grant: ``pending``, ``approved`` with workspace and project, ``denied``, ``cancelled``.

    The same answer however often it is asked. GrantExpired when nobody decided in time; NotFound, the same words for
    both, for an unknown grant and for a token that is not its.
    """
    grant_id, token = _asked(body)
    row = reading(installation, lambda tx: _own(_get(tx, grant_id), token))
    if row.pending:
        _check_time(row)
        return {"status": PENDING}
    if row.state == APPROVED:
        return {"status": APPROVED, "workspace_id": row.workspace_id, "project_id": row.project_id}
    return {"status": row.state}


def cancel(installation: Installation, body: JsonValue) -> Json:
    """The command line gives up; a key that was let in already is revoked, since nobody keeps it. Idempotent."""
    grant_id, token = _asked(body)

    def cancelled(tx: Connection) -> Json:
        row = _own(_get(tx, grant_id, lock=True), token)
        if row.state in {DENIED, CANCELLED}:
            return {"status": row.state}
        if row.state == APPROVED:
            api_keys.revoke(tx, _prefix(row))
        grants.decide(tx, grant_id, CANCELLED)
        return {"status": CANCELLED}

    return writing(installation, cancelled)


def waiting(installation: Installation, grant_id: str) -> GrantRow:
    """A grant that can still be decided; NotFound, StateConflict or GrantExpired otherwise."""
    return reading(installation, lambda tx: _open(_get(tx, grant_id)))


def approve(installation: Installation, grant_id: str, code: str, caller: Caller) -> str:
    """Let the command line into the caller's project for `KEY_DAYS` days; the prefix of its key.

    The key may do what project automation does, as far as the caller may do it too. AccessDenied unless a person who
    may read asks; InvalidRequest for a wrong code, which denies the grant after `MISSES`.
    """
    user_id = _person(caller)
    caller.require(Permission.READ)
    given = re.sub(r"[\s-]", "", code).upper()

    def decided(tx: Connection) -> GrantRow | None:
        row = _open(_get(tx, grant_id, lock=True))
        if not tokens.matches(given, row.code_hash):
            _miss(tx, row, user_id)
            return None
        keys.add_granted(tx, row.key_hash, caller, _wanted(caller))
        scope = {"workspace_id": caller.workspace_id, "project_id": caller.project_id}
        grants.decide(tx, grant_id, APPROVED, user_id=user_id, **scope)
        return row

    row = writing(installation, decided)
    if row is None:
        then = "Enter the code that the command line shows"
        raise InvalidRequest("this is not the code of that command line", then=then)
    return _prefix(row)


def deny(installation: Installation, grant_id: str, caller: Caller) -> None:
    """Refuse the command line; NotFound, StateConflict or GrantExpired when there is nothing to decide."""
    user_id = _person(caller)

    def denied(tx: Connection) -> None:
        row = _open(_get(tx, grant_id, lock=True))
        grants.decide(tx, row.grant_id, DENIED, user_id=user_id)

    writing(installation, denied)


def _add(tx: Connection, row: GrantRow, crowded: Sequence[str]) -> None:
    """Store a grant; `crowded`: those of its address that give way to it."""
    grants.forget(tx, _at(utcnow() - timedelta(hours=KEPT_HOURS)))
    grants.give_way(tx, crowded)
    beyond = grants.waiting(tx) + 1 - WAITING
    if beyond > 0:
        grants.give_way(tx, grants.oldest(tx, beyond))
    grants.create(tx, row)


class _WaitingRoom:
    """Which address began which grants of late, as far as this process knows: the newest `WAITING` of each database."""

    def __init__(self) -> None:
        self._begun: WeakKeyDictionary[Database, list[tuple[float, str, str]]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def enter(self, database: Database, address: str, grant_id: str) -> list[str]:
        """Note a grant; the grants of its address that give way to it, each told once."""
        now = time.monotonic()
        with self._lock:
            begun = [one for one in self._begun.get(database, []) if one[0] > now - SECONDS][1 - WAITING :]
            own = [known for _, of, known in begun if of == address]
            crowded = own[: max(0, len(own) + 1 - EACH)]
            kept = [one for one in begun if one[2] not in crowded]
            self._begun[database] = [*kept, (now, address, grant_id)]
        return crowded


_waiting_room = _WaitingRoom()


def _wanted(caller: Caller) -> KeyRequest:
    """What the key is to be: project automation, or reading for those who may do no more themselves."""
    kind = next(kind for kind in (KeyKind.AUTOMATION, KeyKind.READ_ONLY) if OF_KIND[kind] <= caller.permissions)
    return KeyRequest(name=NAME, kind=kind, expires_days=KEY_DAYS)


def _miss(tx: Connection, row: GrantRow, user_id: str) -> None:
    if row.misses + 1 >= MISSES:
        grants.decide(tx, row.grant_id, DENIED, user_id=user_id)
    else:
        grants.missed(tx, row)


def _person(caller: Caller) -> str:
    if caller.method != "session":
        raise AccessDenied("only a signed-in person lets a command line in", then="Sign in on the page it shows")
    return caller.subject.removeprefix("user:")


def _prefix(row: GrantRow) -> str:
    return granted_prefix(row.key_hash)


def _get(tx: Connection, grant_id: str, *, lock: bool = False) -> GrantRow | None:
    return grants.get(tx, grant_id, lock=lock) if _GRANT.fullmatch(grant_id) else None


def _own(row: GrantRow | None, token: str) -> GrantRow:
    """The grant, if the token is its own; the time it takes is the same without a grant."""
    fits = tokens.matches(token, row.poll_hash if row else None)
    if row is None or not fits:
        raise NotFound("there is no such sign-in", then="Start it again")
    return row


def _open(row: GrantRow | None) -> GrantRow:
    if row is None:
        raise NotFound("there is no such sign-in", then="Start it again from the command line")
    if not row.pending:
        raise StateConflict("this sign-in was decided already", why=f"it is {row.state}", then=_BACK)
    return _check_time(row)


def _check_time(row: GrantRow) -> GrantRow:
    if row.expires_at <= _at(utcnow()):
        why = f"nobody decided within {SECONDS // 60} minutes"
        raise GrantExpired("this sign-in has expired", why=why, then="Start it again from the command line")
    return row


def _at(moment: datetime) -> str:
    return str(iso(moment))


def _asked(body: JsonValue) -> tuple[str, str]:
    found = _texts(body, ("grant_id", "poll_token"))
    return found["grant_id"], found["poll_token"]


def _texts(body: JsonValue, names: tuple[str, ...]) -> dict[str, str]:
    """Exactly these fields, all of them short texts."""
    if not isinstance(body, dict) or set(body) != set(names):
        raise InvalidRequest(f"the body must have the fields {', '.join(names)} and no other")
    found = {name: value for name, value in body.items() if isinstance(value, str) and len(value) <= 512}
    if len(found) < len(names):
        raise InvalidRequest(f"{', '.join(names)} must be texts of at most 512 characters")
    return found
