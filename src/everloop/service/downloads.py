"""Signed links to files of checkpoints: whoever holds one may fetch that file, without a key, until it expires."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import stat
import time
from dataclasses import dataclass

from everloop.errors import AccessDenied, StoreUnavailable
from everloop.paths import Home
from everloop.remote.launchers import folder

SECONDS = 600
"""How long a link is good."""
TOKEN = 512
"""Most characters of a token."""
_KEY_BYTES = 32
_PURPOSE = b"everloop checkpoint download 1\0"


@dataclass(frozen=True, slots=True)
class Link:
    """What a link stands for."""

    job_id: str
    """Job that left the checkpoint."""
    name: str
    """File of the checkpoint."""
    expires: int
    """Unix second after which it is refused."""


def sign(home: Home, job_id: str, name: str) -> str:
    """A token for one file of a job's checkpoint, good from now on for `SECONDS`."""
    body = _text(json.dumps([job_id, name, int(time.time()) + SECONDS]).encode())
    return f"{body}.{_text(_seal(home, body))}"


def read(home: Home, token: str) -> Link:
    """What a token stands for. AccessDenied, in the same words, for one not ours, changed or expired."""
    body, _, seal = token.partition(".")
    good = token.isascii() and len(token) <= TOKEN and hmac.compare_digest(_text(_seal(home, body)), seal)
    link = Link(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))) if good else None
    if link is None or link.expires < time.time():
        raise AccessDenied("this link is not good", why="it was changed or has expired", then="Ask for a new one")
    return link


def _seal(home: Home, body: str) -> bytes:
    return hmac.new(_key(home), _PURPOSE + body.encode(), hashlib.sha256).digest()


def _key(home: Home) -> bytes:
    """The installation's secret, made at the first need; of two processes that make it at once, one wins."""
    if not home.signing_key.exists():
        folder.create(home.signing_key, os.urandom(_KEY_BYTES))
    try:
        descriptor = os.open(home.signing_key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(home, error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_mode & 0o077 or facts.st_uid != os.geteuid():
            raise _unusable(home, "it must be a file of this account that nobody else can read")
        key = file.read()
    if len(key) < _KEY_BYTES:
        raise _unusable(home, "it is too short")
    return key


def _unusable(home: Home, why: str) -> StoreUnavailable:
    then = "Remove it; a new one is made, and links given out before are no longer good"
    return StoreUnavailable(f"{home.signing_key.name} cannot be used", why=why, then=then)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
