"""Numbered pages of a list that is there as a whole: what is shown at once stays small, however long it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloop.console.visits import Visit
from everloop.errors import InvalidRequest
from everloop.events import Json

ROWS = 100
"""Rows of a page."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """One page of a list."""

    items: Sequence[Json]
    """Its rows."""
    number: int
    """Which page it is, from 1."""
    pages: int
    """How many there are; 1 of an empty list."""
    total: int
    """Rows of the whole list."""


def numbered(visit: Visit, found: Sequence[Json]) -> Numbered:
    """The page that the address asks for with ``page``; the last one when there are fewer now."""
    asked = visit.asked("page") or "1"
    if not asked.isascii() or not asked.isdecimal() or len(asked) > 9:
        raise InvalidRequest("page must be a whole number from 1", why=f"got {asked!r:.40}")
    pages = max(1, -(-len(found) // ROWS))
    number = min(max(1, int(asked)), pages)
    return Numbered(found[(number - 1) * ROWS : number * ROWS], number, pages, len(found))
