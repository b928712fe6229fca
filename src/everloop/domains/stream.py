"""Fresh items without end: each family in an order fixed by a seed, each item at most once, nothing remembered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from everloop.domains.base import Domain, Item
from everloop.domains.permutation import Permutation
from everloop.errors import SupplyExhausted
from everloop.evidence.sets import set_of

CHUNK = (64, 8192)
"""Smallest and largest number of positions looked at in one go."""


class Stream:
    """A domain's items in the order of one seed. A cursor is a position in a family's order; the caller keeps it.

    The set of an item is decided by the item alone, so sets never overlap, whatever the seed.
    """

    def __init__(self, domain: Domain, seed: int) -> None:
        self.domain, self.seed = domain, seed
        self._order = cache(self._permutation)

    def draw(self, family: str, set_name: str, n: int, cursor: int = 0) -> tuple[tuple[Item, ...], int]:
        """The next `n` items of a family that belong to a set, and the cursor after them.

        SupplyExhausted when the family's order ends before; its work grows with `n` alone, not with the cursor.
        """
        kept: list[Item] = []
        begun = cursor
        while len(kept) < n:
            seen = cursor - begun
            expected = (n - len(kept)) * (seen / len(kept) if kept else 2 + seen)
            chunk = int(min(CHUNK[1], max(CHUNK[0], 1.05 * expected)))
            cursor = self._walk(family, set_name, n, cursor, chunk, kept)
        return tuple(kept), cursor

    def draw_balanced(
        self, set_name: str, n: int, cursors: Mapping[str, int]
    ) -> tuple[tuple[Item, ...], dict[str, int]]:
        """The next `n` items of a set, families taking turns, so that no prefix favours one by more than an item.

        Returns the items and the cursors after them; families without a cursor begin at 0.
        """
        families = self.domain.families()
        drawn: list[tuple[Item, ...]] = []
        after: dict[str, int] = {}
        for place, family in enumerate(families):
            count = (n - place + len(families) - 1) // len(families)
            items, after[family] = self.draw(family, set_name, max(0, count), cursors.get(family, 0))
            drawn.append(items)
        turns = (items[turn] for turn in range(-(-n // len(families))) for items in drawn if turn < len(items))
        return tuple(turns), after

    def _walk(self, family: str, set_name: str, n: int, cursor: int, chunk: int, kept: list[Item]) -> int:
        """Look at one chunk of positions, add what belongs to `kept` until there are `n`; the cursor after it."""
        indices = self._order(family).indices(cursor, cursor + chunk)
        if not indices:
            raise SupplyExhausted(
                f"family {family} has no more items of the set {set_name}",
                why=f"all {self.domain.supply(family)} items of the family were looked at, {n - len(kept)} are missing",
                then="Lower the sizes or the rounds, or use a domain with more items",
            )
        item_at = self.domain.item
        for index in indices:
            cursor += 1
            item = item_at(family, index)
            if item is not None and set_of(item.content_hash) == set_name:
                kept.append(item)
                if len(kept) == n:
                    break
        return cursor

    def _permutation(self, family: str) -> Permutation:
        return Permutation(self.domain.size(family), f"{self.domain.name}/{family}/{self.seed}")
