"""The key of a running `el up`, for commands of this account, and the proof that no other one uses this home."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from everloop.errors import Conflict
from everloop.events import Json
from everloop.paths import Home
from everloop.service import audit, keys
from everloop.service.caller import LOCAL
from everloop.service.first_start import First
from everloop.service.installation import Installation


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """Hold the home for one `el up`; the kernel lets go of it with this process. Conflict when another has it."""
    held = os.open(home.root / "up.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        then = "Use that one, end it, or set EVERLOOP_HOME to another folder"
        raise Conflict("`el up` runs already", why=f"another one uses {home.root}", then=then) from error
    finally:
        os.close(held)


@contextmanager
def connection(installation: Installation, first: First, url: str) -> Iterator[Json]:
    """How to reach the server, with a key that is revoked when the block ends.

    Keys that an `el up` of this home left when it was killed are revoked first.
    """
    forget(installation)
    request = keys.KeyRequest(name=_name(installation.home))
    key, row = keys.create_key(installation, request, LOCAL, first.project_id)
    _record(installation, "key.create", row.prefix)
    try:
        yield {"url": url, "workspace_id": row.workspace_id, "project_id": row.project_id, "api_key": key}
    finally:
        forget(installation)


def forget(installation: Installation) -> None:
    """Revoke the keys of `el up` in this home, and take away the file that holds one."""
    with suppress(FileNotFoundError):
        installation.home.connection.unlink()
    for row in keys.list_keys(installation, LOCAL):
        if row.name == _name(installation.home) and row.revoked_at is None:
            keys.revoke_key(installation, row.prefix, LOCAL)
            _record(installation, "key.revoke", row.prefix)


def _name(home: Home) -> str:
    """The same for each `el up` of this home and for no other, where several share a database."""
    place = hashlib.sha256(str(home.root.resolve()).encode()).hexdigest()[:8]
    return f"el up ({socket.gethostname()[:64]}, {place})"


def _record(installation: Installation, action: str, target: str) -> None:
    audit.record(
        installation,
        caller=LOCAL,
        surface="cli",
        action=action,
        target=target,
        status=200,
        code=None,
        request_id=None,
        address=None,
    )
