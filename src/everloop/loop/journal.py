"""The journal: each phase of a run happens once, its result and its events in one transaction.

A phase may be *worked* more than once (its process can die at any instant), but only the first result is kept, and
everything that follows from it is written with it. So work must be repeatable: same inputs, same result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection

from everloop.errors import EverloopError, StaleWorker, StoreUnavailable
from everloop.events import Event, Json
from everloop.loop.failure import Failure
from everloop.loop.lines import Lines
from everloop.store import events, phases, runs
from everloop.store.database import Database
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

log = logging.getLogger("everloop.loop")


class Observer(Protocol):
    """Sees the boundaries of phases; the torture test kills the process there."""

    def __call__(self, phase: str, edge: str) -> None:
        """`edge` is ``begin``, ``worked`` (result not yet committed) or ``committed``."""


def unobserved(phase: str, edge: str) -> None:
    """Look away."""


def nothing(tx: Connection) -> None:
    """Write nothing more."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a phase did: everything that is written in its transaction."""

    result: Json
    """What later phases read; small."""
    events: Sequence[Event] = ()
    """What a reader of the run sees, in order."""
    write: Callable[[Connection], None] = nothing
    """Further rows."""
    lines: Lines | None = None
    """The new lines; None: unchanged."""
    columns: Mapping[str, object] = field(default_factory=dict)
    """Columns of the run's row to set."""
    rests_on: Mapping[str, object] = field(default_factory=dict)
    """Columns of the run's row as the work saw them; it is worked anew when they have changed before it is written."""


@dataclass(frozen=True, slots=True)
class _Key:
    round: int
    phase: str
    candidate: str
    spends: bool
    announce: bool


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one run, written by one worker."""

    database: Database
    """Where it is kept."""
    worker: int
    """Epoch of the writing worker; a stale one is refused."""
    run: str
    """Which run."""
    observer: Observer = unobserved
    """Sees boundaries."""
    announces: bool = True
    """Whether phases that may take long are shown while they are at work."""

    def phase(
        self,
        number: int,
        phase: str,
        work: Callable[[RunRow], Done],
        *,
        candidate: str = "",
        spends: bool = False,
        announce: bool = False,
    ) -> Json:
        """Do a phase once and return its result.

        `spends`: its transaction must survive a power cut. `announce`: readers see the phase while it is at work, not
        only when it is done (for phases that take long). Raises Failure when the work failed for a reason that belongs
        to the run.
        """
        key = _Key(number, phase, candidate, spends, announce and self.announces)
        try:
            return self._once(key, work)
        except (StaleWorker, StoreUnavailable):
            raise
        except EverloopError as error:
            log.warning("run %s round %s phase %s: %s", self.run, key.round, key.phase, error.message)
            raise Failure(error.code, error.message) from error
        except Exception as error:
            log.exception("run %s round %s phase %s", self.run, key.round, key.phase)
            what = f"{type(error).__name__} in phase {key.phase} of round {key.round}"
            raise Failure(EverloopError.code, f"{what}. The worker's log has the traceback") from error

    def done(self, number: int, phase: str, candidate: str = "") -> Json | None:
        """The result of a phase that was done; None otherwise. For decisions that a replay must not take anew."""
        return self.database.retrying(lambda: self._look(_Key(number, phase, candidate, False, False)))[0]

    def _look(self, key: _Key) -> tuple[Json | None, RunRow | None]:
        """The result of a phase that was done; otherwise the run's row, to work it with."""
        with self.database.read() as tx:
            known = phases.get(tx, self.run, key.round, key.phase, key.candidate)
            return known, runs.require(tx, self.run) if known is None else None

    def _once(self, key: _Key, work: Callable[[RunRow], Done]) -> Json:
        known, row = self.database.retrying(lambda: self._look(key))
        if row is None:
            return known or {}
        self.observer(key.phase, "begin")
        begun = iso(utcnow())
        if key.announce:
            self.database.retrying(lambda: self._announce(key))
        written: Json | RunRow = row
        while isinstance(written, RunRow):
            written = self._attempt(key, work, written, begun)
        self.observer(key.phase, "committed")
        return written

    def _attempt(self, key: _Key, work: Callable[[RunRow], Done], row: RunRow, begun: str | None) -> Json | RunRow:
        """Work and write; the run's row as it is now when what the work rested on has changed meanwhile."""
        done = self.database.retrying(lambda: work(row))
        self.observer(key.phase, "worked")
        return self.database.retrying(lambda: self._commit(key, done, begun))

    def _announce(self, key: _Key) -> None:
        with self.database.write(worker=self.worker) as tx:
            runs.update(tx, self.run, phase=key.phase)

    def _commit(self, key: _Key, done: Done, begun: str | None) -> Json | RunRow:
        with self.database.write(durable=key.spends, worker=self.worker) as tx:
            # the run's row before anything else: who steers, stops or decides comes before all of this or after it
            row = runs.require(tx, self.run, lock=True)
            if any(getattr(row, name) != value for name, value in done.rests_on.items()):
                known = phases.get(tx, self.run, key.round, key.phase, key.candidate)
                return row if known is None else known
            at = (key.round, key.phase, key.candidate)
            if not phases.add(tx, self.run, *at, done.result, started_at=begun):
                return phases.get(tx, self.run, *at) or {}
            done.write(tx)
            columns: dict[str, object] = dict(done.columns)
            if done.lines is not None:
                columns["lines"] = done.lines.to_json()
                columns["working_head"] = done.lines.head.name
                columns["best_version"] = done.lines.version
            events.append(tx, self.run, *done.events, **({"phase": key.phase} | columns))
        return done.result
