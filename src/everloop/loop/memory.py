"""What a run remembers of refused candidates: for its operator, and for the auditor of significance."""

from __future__ import annotations

from everloop.loop.context import Context
from everloop.loop.proposals import tried_of
from everloop.operators.base import Tried
from everloop.store import candidates

REMEMBERED = 200
"""Newest refused candidates that are remembered."""


def tried(context: Context, moved: int) -> list[Tried]:
    """Candidates refused since round `moved`, newest first; read once, until the next candidate is concluded."""
    if moved not in context.remembered:
        with context.means.database.read() as tx:
            found = candidates.tried_since(tx, context.run, moved, REMEMBERED)
        context.remembered[moved] = [tried_of(one) for one in found]
    return context.remembered[moved]


def concluded(context: Context) -> None:
    """One more may have been refused: read anew next time."""
    context.remembered.clear()
