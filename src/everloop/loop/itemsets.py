"""Drawing items of a run's sets. What was drawn once is never drawn again: each family's cursor only moves forward.

A phase that draws is worked again after a crash with the same cursors, and so draws the same items; the cursors move in
the transaction that keeps its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.loop.context import Context
from everloop.store import itemsets


@dataclass(frozen=True, slots=True)
class Draw:
    """Items drawn from a set, and where its cursors go when the draw is kept."""

    set_name: str
    """Which set."""
    items: tuple[Item, ...]
    """The items, families taking turns."""
    start: Mapping[str, int]
    """Cursors before."""
    cursors: Mapping[str, int]
    """Cursors after."""

    def keep(self, tx: Connection, run: str) -> None:
        """Move the cursors; part of the transaction that keeps what was measured on the items."""
        itemsets.advance(tx, run, self.set_name, self.cursors)

    def then(self, more: Draw) -> Draw:
        """This draw and the one that followed it, as one."""
        return Draw(self.set_name, self.items + more.items, self.start, more.cursors)


def fresh(context: Context, set_name: str, n: int, after: Draw | None = None) -> Draw:
    """`n` items of a set that nobody has seen (in this run), after those of an unkept draw if given."""
    if after is not None:
        start: Mapping[str, int] = after.cursors
    else:
        with context.means.database.read() as tx:
            start = itemsets.cursors(tx, context.run, set_name)
    start = {family: start.get(family, 0) for family in context.domain.families()}
    items, cursors = context.stream.draw_balanced(set_name, n, start)
    return Draw(set_name, tuple(items), start, cursors)


def of_family(context: Context, set_name: str, n: Mapping[str, int]) -> tuple[dict[str, tuple[Item, ...]], Draw]:
    """Fresh items of some families only: family -> items, and the draw to keep."""
    with context.means.database.read() as tx:
        known = itemsets.cursors(tx, context.run, set_name)
    drawn: dict[str, tuple[Item, ...]] = {}
    cursors: dict[str, int] = {}
    for family, count in n.items():
        items, cursors[family] = context.stream.draw(family, set_name, count, known.get(family, 0))
        drawn[family] = tuple(items)
    every = tuple(item for items in drawn.values() for item in items)
    return drawn, Draw(set_name, every, {f: known.get(f, 0) for f in n}, cursors)


def again(context: Context, set_name: str, n: int, start: Mapping[str, int]) -> tuple[Item, ...]:
    """The items of an earlier draw, from where it began."""
    items, _ = context.stream.draw_balanced(set_name, n, start)
    return tuple(items)
