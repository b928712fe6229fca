"""Use cases on approvals: list what waits for a person, decide it. A decision is taken once."""

from __future__ import annotations

import re

from sqlalchemy import Connection

from everloop.errors import ApprovalNeeded, InvalidRequest, NotFound, RunNotFound, StateConflict
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.service import visibility
from everloop.service.approval_document import approval_json
from everloop.service.caller import LOCAL, Caller
from everloop.service.fields import fields
from everloop.service.installation import Installation
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.service.request import text_of
from everloop.store import approvals, events
from everloop.store.approvals import ApprovalRow
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

DECISIONS = {"approve": approvals.APPROVED, "reject": approvals.REJECTED}
"""What may be said -> the state of the approval then."""
_ID = re.compile(r"apr-[0-9a-f]{20}")


def listing(
    installation: Installation,
    caller: Caller = LOCAL,
    *,
    state: JsonValue = None,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the approvals of the caller's project, newest first; `state`: only those."""
    caller.require(Permission.READ)
    most, before = checked_limit(limit), place_of(cursor, 2)
    if state is not None and state not in approvals.STATES:
        known = ", ".join(approvals.STATES)
        raise InvalidRequest(f"state must be one of {known}", why=f"got {state!r:.80}")
    with installation.database.read() as tx:
        rows = approvals.listing(
            tx,
            limit=most + 1,
            state=None if state is None else str(state),
            before=(before[0], before[1]) if before else None,
            project_id=None if caller.sees_all else caller.project_id,
        )
    return page(rows, most, lambda row: (row.created_at, row.approval_id), approval_json)


def get(installation: Installation, approval_id: str, caller: Caller = LOCAL) -> Json:
    """One approval. NotFound without it, or when the caller does not see its run."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        return approval_json(_require(tx, approval_id, caller)[0])


def decide(
    installation: Installation,
    approval_id: str,
    decision: JsonValue,
    reason: JsonValue = None,
    caller: Caller = LOCAL,
) -> Json:
    """Approve or reject; a run that is paused for it goes on by itself, in the same transaction.

    `reason` is required of a rejection: the operator reads it, and so does who looks at the record. NotFound without
    such an approval, StateConflict when it was decided before.
    """
    caller.require(Permission.APPROVE)
    at = str(iso(utcnow()))

    def write() -> Json:
        with installation.database.write() as tx:
            asked, run = _require(tx, approval_id, caller, lock=True)
            state, said = _decision(decision), _reason(decision, reason)
            if approvals.decide(tx, approval_id, state, reason=said, by=caller.subject, at=at):
                _tell(tx, run, asked, state, said, caller)
            elif (asked.decided_at, asked.decided_by, asked.state) != (at, caller.subject, state):
                raise StateConflict(f"approval {approval_id} was decided", why=f"{asked.decided_by} {asked.state} it")
            # else an earlier try wrote it, and its answer was lost
            return approval_json(_require(tx, approval_id, caller)[0])

    return installation.database.retrying(write)


def decide_document(installation: Installation, approval_id: str, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Decide from the JSON of a request: ``{"decision", "reason"?}``."""
    caller.require(Permission.APPROVE)
    with installation.database.read() as tx:
        _require(tx, approval_id, caller)
    given = fields(document, ("decision", "reason"))
    return decide(installation, approval_id, given.get("decision"), given.get("reason"), caller)


def _require(tx: Connection, approval_id: str, caller: Caller, *, lock: bool = False) -> tuple[ApprovalRow, RunRow]:
    """The approval and its run, which nobody else changes until the transaction ends when it is locked."""
    found = approvals.get(tx, approval_id) if _ID.fullmatch(approval_id) else None
    missing = NotFound(f"approval {approval_id!r:.80} is not known", then="List the approvals there are")
    try:
        # of an approval that is not there, its run is looked for all the same: nobody can tell it from one of others
        run = visibility.require(tx, approval_id if found is None else found.run, caller, lock=lock)
    except RunNotFound as error:
        raise missing from error
    if found is None:
        raise missing
    return (approvals.get(tx, approval_id) or found) if lock else found, run


def _decision(value: JsonValue) -> str:
    if not isinstance(value, str) or value not in DECISIONS:
        raise InvalidRequest(f"decision must be one of {', '.join(DECISIONS)}", why=f"got {value!r:.80}")
    return DECISIONS[value]


def _reason(decision: JsonValue, value: JsonValue) -> str | None:
    if value is None and decision == "approve":
        return None
    return text_of(value, InvalidRequest, "reason").strip()


def _tell(tx: Connection, run: RunRow, asked: ApprovalRow, state: str, said: str | None, caller: Caller) -> None:
    """The event of a decision; a run that is paused for it begins its next generation."""
    text = f"approval {asked.approval_id} of {asked.candidate} {state} by {caller.subject}"
    data: Json = {"approval": asked.approval_id, "candidate": asked.candidate, "decision": state}
    events.append(tx, run.run, Event(EventKind.MESSAGE, f"{text}: {said}" if said else text, data=data))
    if run.state == "paused" and run.error is not None and run.error["code"] == ApprovalNeeded.code:
        approvals.go_on(tx, run.run, run.generation)
