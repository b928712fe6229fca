"""A key as a caller asks for it, read from JSON."""

from __future__ import annotations

from everloop.errors import InvalidRequest
from everloop.events import JsonValue
from everloop.service.fields import fields, text
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind

FIELDS = ("name", "kind", "permissions", "expires_days")
"""What may be said of a new key; everything has a default."""


def key_request(document: JsonValue) -> KeyRequest:
    """The request of ``{"name"?, "kind"?, "permissions"?, "expires_days"?}``. InvalidRequest names the field."""
    given = fields(document, FIELDS)
    return KeyRequest(
        name=text(given, "name", ""),
        kind=_kind(text(given, "kind", str(KeyKind.AUTOMATION))),
        permissions=_permissions(given.get("permissions")),
        expires_days=_days(given.get("expires_days")),
    )


def _kind(name: str) -> KeyKind:
    if name not in set(KeyKind):
        raise InvalidRequest(f"kind {name!r:.80} is not known", then=f"Known: {', '.join(KeyKind)}")
    return KeyKind(name)


def _permissions(value: JsonValue) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) and len(one) < 64 for one in value):
        raise InvalidRequest("permissions must be a list of names", why=f"got {value!r:.80}")
    return tuple(str(one) for one in value)


def _days(value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise InvalidRequest("expires_days must be a number of days", why=f"got {value!r:.80}")
    return float(value)
