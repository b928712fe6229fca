"""Which runs a caller sees: one rule for list, detail, round, live view, steers, directives and control.

A run is seen in the project whose caller started it. A label on a job opens a run only where no owner was recorded:
else any project with ``training.run`` could label a job with someone else's run, and then read and steer it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from everloop.errors import RunNotFound
from everloop.service.caller import Caller
from everloop.store import runs
from everloop.store.runs import RunRow


def require(tx: Connection, run: str, caller: Caller, *, lock: bool = False) -> RunRow:
    """The run, if the caller sees it. RunNotFound, the same words for both, when it does not or there is none."""
    row = runs.get(tx, run, lock=lock)
    if row is None or not _seen(tx, row, caller):
        raise RunNotFound(f"run {run:.64} is not known", then="List the runs there are")
    return row


def _seen(tx: Connection, row: RunRow, caller: Caller) -> bool:
    if caller.sees_all:
        return True
    if row.project_id is None:
        return runs.labelled(tx, row.run, caller.project_id)
    return (row.workspace_id, row.project_id) == (caller.workspace_id, caller.project_id)
