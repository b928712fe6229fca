"""Who a key or a session belongs to. Called for every request: one read of one row, nothing else to wait for."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from everloop import tokens
from everloop.errors import ProjectAccessDenied, Unauthorized
from everloop.service._transactions import reading
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import OF_ROLE, Permission, Role
from everloop.store import api_keys, sessions
from everloop.store._brief import briefly
from everloop.store.database import Database
from everloop.values import iso, utcnow

MINUTE = 60.0
"""Seconds within which a second use of a key or session is not written down."""
GRANTED = re.compile(r"epk_[0-9a-f]{64}")
"""A key that a client made for itself and had approved (`el auth login` of the vendor's client)."""
MOST_TRIED = 10_000
"""Most keys and sessions of which this process remembers the last write of a use."""

_KNOWN = {str(one): one for one in Permission}
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,512}")


def authenticate(installation: Installation, bearer: str) -> Caller:
    """The caller that an API key stands for. Unauthorized, in the same words and time, for any that is not good."""
    prefix = key_prefix(bearer)
    if not prefix:
        raise unauthorized()
    found = reading(installation, lambda tx: api_keys.presented(tx, prefix))
    good = tokens.matches(bearer, None if found is None else found.hash)
    if found is None or not good or found.revoked_at is not None or _past(found.expires_at):
        raise unauthorized()
    _uses.note(installation.database, prefix, found.used_at, api_keys.used)
    may = _known(json.loads(found.permissions))
    return Caller(f"key:{prefix}", found.workspace_id, found.project_id, may, "api_key")


def authenticate_session(installation: Installation, cookie: str) -> Caller:
    """The caller that a session's token stands for; without any permission where the person is no member (any more).

    Unauthorized, in the same words and time, for a token that is not good or a person who was disabled.
    """
    prefix = marked_prefix(cookie, tokens.SESSION)
    if not prefix:
        raise unauthorized()
    found = reading(installation, lambda tx: sessions.presented(tx, prefix))
    good = tokens.matches(cookie, None if found is None else found.hash)
    if found is None or not good or found.revoked_at is not None or _past(found.expires_at) or found.disabled_at:
        raise unauthorized()
    _uses.note(installation.database, prefix, found.used_at, sessions.used)
    may = OF_ROLE[Role(found.role)] if found.role is not None else frozenset()
    return Caller(f"user:{found.user_id}", found.workspace_id or "", found.project_id or "", may, "session")


def check_scope(caller: Caller, workspace_id: str | None, project_id: str | None) -> None:
    """ProjectAccessDenied when a request names a workspace or project other than the caller's own; None: not named."""
    for named, own in ((workspace_id, caller.workspace_id), (project_id, caller.project_id)):
        if named is not None and named != own:
            raise ProjectAccessDenied(
                "this key or session is not of the workspace and project that the request names",
                then="Leave out X-Workspace-ID and X-Project-ID, or use a key of that project",
            )


def key_prefix(key: str) -> str:
    """The public part of an API key; empty when it is none.

    A key that a client made has none, so the beginning of its hash stands for it.
    """
    if GRANTED.fullmatch(key):
        return granted_prefix(tokens.digest(key))
    return marked_prefix(key, tokens.API)


def granted_prefix(key_hash: str) -> str:
    """The prefix under which a key made by a client is kept; `key_hash`: its SHA-256 hex."""
    return key_hash[: 2 * tokens.PREFIX_BYTES]


def unauthorized() -> Unauthorized:
    """The one refusal of whatever is not good."""
    then = "Give a key that is not expired or revoked, or sign in again"
    return Unauthorized("this key or session is not known here", then=then)


class _Uses:
    """Writes down when a key or session was used, at most once a minute in each process, without holding up anybody."""

    def __init__(self) -> None:
        self._tried: WeakKeyDictionary[Database, dict[str, float]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def note(
        self, database: Database, prefix: str, last: str | None, write: Callable[[Connection, str, str], None]
    ) -> None:
        """Write the use down, unless one within the last minute (`last`, or a try of this process) was."""
        now = utcnow()
        if last is not None and last > str(iso(now - timedelta(seconds=MINUTE))):
            return
        if self._turn(database, prefix):
            briefly(database, lambda tx: write(tx, prefix, str(iso(now))))

    def _turn(self, database: Database, prefix: str) -> bool:
        """Whether this process has not tried for this prefix within the last minute."""
        now = time.monotonic()
        with self._lock:
            tried = self._tried.setdefault(database, {})
            if now - tried.get(prefix, -MINUTE) < MINUTE:
                return False
            if len(tried) >= MOST_TRIED:  # the worst that follows is a second write in a minute
                tried.clear()
            tried[prefix] = now
            return True


_uses = _Uses()


def marked_prefix(token: str, mark: str) -> str:
    """The public part; empty for what no token looks like, so that no odd text gets as far as the database."""
    return tokens.prefix_of(token, mark)[:16] if _TOKEN.fullmatch(token) else ""


def _past(moment: str | None) -> bool:
    return moment is not None and moment <= str(iso(utcnow()))


def _known(names: Iterable[str]) -> frozenset[Permission]:
    """The permissions of a row; a name that this release does not know gives nothing."""
    return frozenset(_KNOWN[name] for name in names if name in _KNOWN)
