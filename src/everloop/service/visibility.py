"""Which runs a caller sees: one rule for list, detail, round, live view, steers, directives and control.

A run is seen in the project whose caller started it. A label on a job opens a run only where no owner was recorded:
else any project with ``training.run`` could label a job with someone else's run, and then read and steer it.
"""

from __future__ import annotations

import re
from typing import Protocol

from sqlalchemy import Connection

from everloop.errors import RunNotFound
from everloop.service import unreadable
from everloop.service.caller import Caller
from everloop.store import freshness, runs
from everloop.store.runs import RunRow

_RUN = re.compile(r"[a-z0-9-]{1,64}")


def require(tx: Connection, run: str, caller: Caller, *, lock: bool = False) -> RunRow:
    """The run, if the caller sees it. RunNotFound, the same words for both, when it does not or there is none.

    RunUnreadable when it is one that the caller sees, and its row makes no sense.
    """
    try:
        row = runs.get(tx, run, lock=lock) if _RUN.fullmatch(run) else None
    except unreadable.FAULTS as fault:
        mark(tx, run, caller)
        raise unreadable.error(run, fault) from fault
    if row is None or not sees(tx, run, row, caller):
        raise _unknown(run)
    return row


def mark(tx: Connection, run: str, caller: Caller) -> str:
    """A text that differs after every change of what is told of the run; RunNotFound as `require`.

    One statement: it is asked for at every poll of every open tab.
    """
    found = freshness.look(tx, run) if _RUN.fullmatch(run) else None
    if found is None or not sees(tx, run, found, caller):
        raise _unknown(run)
    return found.mark


class Owned(Protocol):
    """What has an owner: a run's row, or what else is read of a run."""

    @property
    def workspace_id(self) -> str | None:
        """Workspace of the owner; None where none was recorded."""

    @property
    def project_id(self) -> str | None:
        """Project of the owner; None where none was recorded."""


def sees(tx: Connection, run: str, owner: Owned, caller: Caller) -> bool:
    """Whether the caller sees the run that `owner` was read of."""
    if caller.sees_all:
        return True
    if owner.project_id is None:
        return runs.labelled(tx, run, caller.project_id)
    return (owner.workspace_id, owner.project_id) == (caller.workspace_id, caller.project_id)


def _unknown(run: str) -> RunNotFound:
    return RunNotFound(f"run {run!r:.80} is not known", then="See `el job run list`, or GET /v1/agent-runs/rsi/runs")
