"""E-mail addresses, as people are known by them."""

from __future__ import annotations

from everloop.errors import InvalidRequest

EMAIL = 320
"""Most characters of an e-mail address."""


def checked_email(email: str) -> str:
    """An e-mail address in lower case. InvalidRequest for what cannot be one."""
    address = email.strip().lower()
    local, at, host = address.rpartition("@")
    spaced = any(one.isspace() or not one.isprintable() for one in address)
    if not (local and at and host) or spaced or len(address) > EMAIL:
        raise InvalidRequest(f"{email!r:.80} is no e-mail address")
    return address
