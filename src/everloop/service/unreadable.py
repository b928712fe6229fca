"""Runs whose record makes no sense to this release: told as ``unreadable``, never as an error of the server.

A row that another release wrote, or that somebody changed by hand, must not take the list away from everybody else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from everloop.errors import Conflict, InvalidRequest, RunUnreadable
from everloop.events import Json

log = logging.getLogger("everloop.service")

FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, InvalidRequest)
"""What reading a broken record raises: bad JSON, missing keys, other types, a policy that is not known."""
SUMMARY = ("run", "kind", "state", "round", "rounds_target", "best_version", "spend", "owner", "updated_at")
"""Keys of a summary row."""
DETAIL = (
    *SUMMARY,
    *("group", "level", "domain", "mode", "stop_requested", "phase", "brief", "working_head", "created_at", "machine"),
    *("error", "limits", "goal", "stop", "options", "protocol", "steps", "versions", "control", "claims", "gates"),
    *("approvals", "reviews", "rounds", "rounds_total", "directives"),
)
"""Keys of a run document."""
LIVE = (
    *("run", "state", "stop_requested", "round", "rounds_target", "phase", "current", "limits", "spend"),
    *("best_version", "working_head", "updated_at"),
)
"""Keys of a live document that are null; its lists are empty and its cursor stays, so that a reader can go on."""

_told: set[str] = set()
_lock = Lock()


@contextmanager
def refused(run: str) -> Iterator[None]:
    """RunUnreadable for whatever reading the record of a run inside raises."""
    try:
        yield
    except FAULTS as fault:
        raise error(run, fault) from fault


def error(run: str, fault: Exception) -> RunUnreadable:
    """The error for a record that cannot be read; the log of this process has the traceback, once for each run."""
    with _lock:
        new = run not in _told
        _told.add(run)
    if new:
        log.error("the record of run %s cannot be read", run, exc_info=fault)
    then = "The server's log has the reason; other runs are not affected"
    return RunUnreadable(f"the record of run {run} cannot be read", why=type(fault).__name__, then=then)


def summary(run: str, error: Conflict, updated_at: str | None = None) -> Json:
    """The row of the list; `updated_at` is where it stands in it."""
    return _null(SUMMARY, run, error) | {"updated_at": updated_at}


def detail(run: str, error: Conflict) -> Json:
    """The run document."""
    return _null(DETAIL, run, error)


def live(run: str, error: Conflict, since: int | None) -> Json:
    """The live document."""
    lists: Json = {"events": [], "next_cursor": since or 0, "steers": [], "jobs": []}
    return _null(LIVE, run, error) | lists


def _null(keys: tuple[str, ...], run: str, error: Conflict) -> Json:
    nulls: Json = dict.fromkeys(keys)
    return nulls | {"run": run, "state": "unreadable", "error": {**error.to_json()}}
