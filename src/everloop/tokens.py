"""Tokens: minted from random bits, shown once, kept as a hash, compared in constant time.

A token is ``MARK_PREFIX_SECRET``. The mark says what it is for, so that one that leaked is recognised; the prefix finds
its row; the secret's 256 random bits need no salt and no slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

API, GATEWAY, SESSION, LINK = "elk", "elg", "els", "ell"
"""Marks: key of a project, key of the served gateway, signed-in session, one-time sign-in link."""
PREFIX_BYTES = 6
SECRET_BYTES = 32
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class Token:
    """A new token; shown once."""

    prefix: str
    """Its public part: 12 hex digits."""
    key: str
    """The whole token."""

    @property
    def hash(self) -> str:
        """What is stored of it."""
        return digest(self.key)

    def __repr__(self) -> str:
        return f"Token(prefix={self.prefix!r})"


def mint(mark: str) -> Token:
    """A new token of 256 random bits, of `A-Za-z0-9_-` only."""
    prefix = secrets.token_hex(PREFIX_BYTES)
    return Token(prefix, f"{mark}_{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}")


def digest(key: str) -> str:
    """SHA-256 hex of a token."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def prefix_of(key: str, mark: str) -> str:
    """The public part of a token or of ``MARK_PREFIX``; empty when it is neither."""
    parts = key.split("_", 2)
    return parts[1] if len(parts) > 1 and parts[0] == mark else ""


def matches(key: str, stored: str | None) -> bool:
    """Whether the token has this hash, in a time that tells nothing; also where there is no hash to compare with."""
    return hmac.compare_digest(digest(key), stored or _NOBODY) and stored is not None
