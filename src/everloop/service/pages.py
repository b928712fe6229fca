"""Pages of a list: items, an opaque cursor to the next, the time of the look."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from everloop.errors import InvalidCursor, InvalidLimit
from everloop.events import Json, JsonValue
from everloop.values import iso, utcnow

T = TypeVar("T")

LIMITS = (1, 100)
"""Least and most items of a page."""
DEFAULT = 25
"""Items of a page when the caller names no number."""
CURSOR = 512
"""Most characters of a cursor."""

Place = tuple[str, ...]
"""Where a page ended: the sort key of its last row."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: Sequence[Json]
    """Rows in order."""
    next_cursor: str | None
    """Cursor of the next page; None at the end."""

    def to_json(self) -> Json:
        """The wire form."""
        return {"items": list(self.items), "next_cursor": self.next_cursor, "observed_at": iso(utcnow())}


def page(rows: Sequence[T], limit: int, place: Callable[[T], Place], item: Callable[[T], Json]) -> Page:
    """The page of `rows`, which were read with one more than `limit` to see whether there is a next."""
    shown = rows[:limit]
    more = len(rows) > limit
    return Page([item(row) for row in shown], cursor(place(shown[-1])) if more else None)


def checked_limit(value: JsonValue, most: int = LIMITS[1]) -> int:
    """`value`, or the default for None. InvalidLimit outside the bounds."""
    if value is None:
        return min(DEFAULT, most)
    if isinstance(value, bool) or not isinstance(value, int) or not LIMITS[0] <= value <= most:
        raise InvalidLimit(f"limit must be a whole number from {LIMITS[0]} to {most}", why=f"got {value!r:.80}")
    return value


def cursor(place: Place) -> str:
    """A cursor to go on after `place`."""
    return base64.urlsafe_b64encode(json.dumps(list(place)).encode()).decode().rstrip("=")


def place_of(value: str | None, parts: int) -> Place | None:
    """Where a cursor points to; None without one. InvalidCursor for anything this server did not make."""
    if value is None:
        return None
    try:
        if len(value) > CURSOR:
            raise ValueError
        found = json.loads(base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        found = None
    texts = isinstance(found, list) and len(found) == parts and all(isinstance(one, str) for one in found)
    if not texts or any("\0" in one or not one.isprintable() for one in found):
        raise InvalidCursor("this cursor is not of this list", then="Begin again without one")
    return tuple(found)
