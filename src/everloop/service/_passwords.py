"""Passwords: kept as Argon2id hashes, checked in a time that does not tell whether there is one."""

from __future__ import annotations

import secrets
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from everloop.errors import InvalidRequest

LEAST = 12
"""Least characters of a password."""
MOST = 1024
"""Most characters of a password."""

_hasher = PasswordHasher()
_turns = threading.BoundedSemaphore(4)
"""Each check takes 64 MiB; many at once must not take the machine's memory."""


def hashed(password: str) -> str:
    """The hash to store. InvalidRequest for a password that is too short, too long or no text."""
    if not LEAST <= len(password) <= MOST:
        raise InvalidRequest("this password cannot be accepted", why=f"it has {LEAST} to {MOST} characters")
    with _turns:
        return _hasher.hash(_plain(password))


def verified(password: str, stored: str | None) -> bool:
    """Whether the password has this hash; takes as long when there is none to compare with."""
    with _turns:
        try:
            _hasher.verify(stored or _nobody(), _plain(password[:MOST]))
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None and len(password) <= MOST


def outdated(stored: str) -> bool:
    """Whether a hash was made with other parameters than are in use now."""
    return _hasher.check_needs_rehash(stored)


@cache
def _nobody() -> str:
    return _hasher.hash(secrets.token_bytes(32))


def prepare() -> None:
    """Make the hash that stands for nobody's, so that the first sign-in takes no longer than the others."""
    _nobody()


def _plain(password: str) -> bytes:
    """One way to write a text that can be typed in several; half a surrogate pair is kept as it is."""
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")
