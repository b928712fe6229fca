"""Keys of the served gateway: ``elg_PREFIX_SECRET``. Only their hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

MARK = "elg"
"""What every key begins with, so that one that leaked is recognised."""
PREFIX_BYTES = 6
SECRET_BYTES = 32
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class MintedKey:
    """A new key; shown once."""

    prefix: str
    """Its public part: 12 hex digits."""
    key: str
    """The whole key."""

    @property
    def hash(self) -> str:
        """What is stored of it."""
        return digest(self.key)

    def __repr__(self) -> str:
        return f"MintedKey(prefix={self.prefix!r})"


def mint() -> MintedKey:
    """A new key of 256 random bits."""
    prefix = secrets.token_hex(PREFIX_BYTES)
    return MintedKey(prefix, f"{MARK}_{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}")


def digest(key: str) -> str:
    """SHA-256 hex of a key. Its 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


def prefix_of(key: str) -> str:
    """The public part of a key or of ``elg_PREFIX``; empty when it is neither."""
    parts = key.split("_", 2)
    return parts[1] if len(parts) > 1 and parts[0] == MARK else ""


def matches(key: str, stored: str | None) -> bool:
    """Whether the key has this hash, in a time that tells nothing; also where there is no hash to compare with."""
    return hmac.compare_digest(digest(key), stored or _NOBODY) and stored is not None
