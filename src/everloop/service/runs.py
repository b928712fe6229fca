"""Use cases on runs: list, look."""

from __future__ import annotations

from everloop.errors import RunUnreadable
from everloop.events import Json, JsonValue
from everloop.service import unreadable, visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.document import live_document, round_document, run_document, summary_row
from everloop.service.installation import Installation
from everloop.service.listed import listed
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.service.request import whole
from everloop.store.runs import Wanted


def document(
    installation: Installation, run: str, *, rounds: int = 50, compact: bool = False, caller: Caller = LOCAL
) -> Json:
    """The run document (one shape for every interface), or its summary row; RunNotFound for an unknown run."""
    caller.require(Permission.READ)
    try:
        with installation.database.read() as tx, unreadable.refused(run):
            row = visibility.require(tx, run, caller)
            return summary_row(tx, row) if compact else run_document(tx, row, rounds)
    except RunUnreadable as error:
        return unreadable.summary(run, error) if compact else unreadable.detail(run, error)


def round(installation: Installation, run: str, number: JsonValue, caller: Caller = LOCAL) -> Json:  # noqa: A001 - its noun
    """One round with everything: decision, plan, interventions, reviews, summary. NotFound when it was not begun."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = visibility.require(tx, run, caller)
        wanted = whole(number, "round", 1, 2**31 - 1)
        with unreadable.refused(run):
            return round_document(tx, row, wanted)


def live(installation: Installation, run: str, since: JsonValue = None, caller: Caller = LOCAL) -> Json:
    """What the run does right now: state, phase, events after `since` (at most 200), steers, jobs, spend."""
    caller.require(Permission.READ)
    try:
        with installation.database.read() as tx:
            row = visibility.require(tx, run, caller)
            seq = _since(since)
            with unreadable.refused(run):
                return live_document(tx, row, seq)
    except RunUnreadable as error:
        return unreadable.live(run, error, _since(since))


def _since(value: JsonValue) -> int | None:
    return None if value is None else whole(value, "since", 0, 2**53)


def mark(installation: Installation, run: str, caller: Caller = LOCAL) -> str:
    """A text that differs after every change of what is told of the run."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        return visibility.mark(tx, run, caller)


START = "No runs yet. Start one with POST /v1/agent-runs/rsi/runs, the MCP tool rsi_start_run, or `el job run start`."
"""What an empty list says."""


def pages(
    installation: Installation,
    *,
    limit: JsonValue = None,
    cursor: str | None = None,
    group: str | None = None,
    caller: Caller = LOCAL,
) -> Page:
    """A page of the summary rows of the runs the caller sees, newest update first; `group`: only those of one."""
    caller.require(Permission.READ)
    most, before = checked_limit(limit), place_of(cursor, 2)
    project = None if caller.sees_all else caller.project_id
    with installation.database.read() as tx:
        last = (before[0], before[1]) if before else None
        rows = listed(tx, Wanted(limit=most + 1, before=last, project_id=project, group=group))
        return page(rows, most, lambda row: (row.updated_at, row.run), lambda row: row.told)


def listing(installation: Installation, limit: int = 25, caller: Caller = LOCAL) -> list[Json]:
    """Summary rows, newest update first."""
    return list(pages(installation, limit=limit, caller=caller).items)
