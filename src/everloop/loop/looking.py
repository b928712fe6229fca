"""Looks of a certification, written down as they are taken: what the page shows while pairs are still measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection

from everloop.evidence.gates.base import Verdict
from everloop.evidence.tally import Tally
from everloop.loop.context import Context
from everloop.loop.lines import Lines
from everloop.store import looks
from everloop.store.looks import Look


@dataclass(frozen=True, slots=True)
class Looking:
    """The looks of one comparison of the working head with the certified version."""

    context: Context
    """The run."""
    lines: Lines
    """The lines that are compared."""
    round: int
    """The round it belongs to."""
    _seen: list[Look] = field(default_factory=list)

    def look(self, tally: Tally, verdict: Verdict) -> None:
        """Remember a look, and show it where measuring takes long enough for somebody to see it.

        The look that decides is not shown by itself: it is written with the decision, as are the others once more.
        """
        seen = self._of(tally, verdict)
        self._seen.append(seen)
        if verdict.more and self.context.journal.announces:
            self.context.means.database.retrying(lambda: self._show(seen))

    def keep(self, tx: Connection) -> None:
        """Write all of them, in the transaction of what was decided on them."""
        looks.settle(tx, self.context.run, self._seen)

    def _show(self, seen: Look) -> None:
        with self.context.means.database.write(worker=self.context.means.worker) as tx:
            looks.put(tx, self.context.run, seen)

    def _of(self, tally: Tally, verdict: Verdict) -> Look:
        return Look(
            candidate=self.lines.head.name,
            round=self.round,
            against=self.lines.version,
            pairs=tally.pairs,
            wins=tally.wins,
            losses=tally.losses,
            log_e=verdict.log_e,
            futility=verdict.futility,
            threshold=verdict.threshold,
            ruling=str(verdict.ruling),
        )
