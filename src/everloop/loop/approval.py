"""A person's word on a certification: asked for under a soft verifier, waited for, and taken up when it is there.

The comparison is one phase, whose result is journalled once; the word is taken up by a later phase, which reads it from
the store. While it is not there, that phase fails with APPROVAL_NEEDED and the run is paused. The transaction of the
decision renews a run that is paused for it, and the transaction of the pause looks for the decision: both hold the
run's row, so that whichever comes second sees the other.
"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.errors import ApprovalNeeded
from everloop.events import Event, EventKind, Json
from everloop.loop.context import Context
from everloop.loop.finding import Finding, occasion_of
from everloop.loop.journal import Done
from everloop.store import approvals, candidates, events
from everloop.store.approvals import ApprovalRow
from everloop.store.runs import RunRow

KIND = "certification"
"""What is asked for here."""


def needed(context: Context) -> bool:
    """Whether a person approves the certifications of this run: its verifier, frozen at the start, is soft."""
    return context.row.protocol["verifier"] == "soft"


def ask(tx: Connection, context: Context, number: int, key: str, finding: Finding) -> None:
    """Record what is asked; part of the transaction that keeps what was measured."""
    proposal = candidates.require(tx, context.run, finding.candidate).proposal
    document: Json = {
        "round": number,
        "key": key,
        "baseline": finding.against,
        "judge": {"id": context.row.protocol["judge"], "version": context.row.protocol["judge_version"]},
        "sha256": finding.sha256,
        "rationale": proposal.get("rationale"),
        "evidence": finding.gate,
    }
    occasion = occasion_of(finding.candidate)
    approvals.put(tx, context.run, KIND, finding.candidate, occasion=occasion, document=document)


def id_of(context: Context, finding: Finding) -> str:
    """The id of the approval that a finding needs."""
    return approvals.id_of(context.run, KIND, finding.candidate, occasion_of(finding.candidate))


def asked(context: Context, number: int, finding: Finding) -> Event:
    """What a reader of the run sees when a person is asked."""
    approval_id = id_of(context, finding)
    text = (
        f"{finding.candidate} is shown to beat {finding.against}: {finding.told}; approval {approval_id} is asked for"
    )
    data: Json = {"candidate": finding.candidate, "approval": approval_id, "certification": finding.figures}
    return Event(EventKind.MESSAGE, text, number, "certify", "loop", "gate", data)


def word(context: Context, finding: Finding) -> ApprovalRow:
    """The decision on a finding. ApprovalNeeded, which pauses the run, while there is none."""
    approval_id = id_of(context, finding)
    with context.means.database.read() as tx:
        found = approvals.get(tx, approval_id)
    if found is None or found.state == approvals.PENDING:
        raise ApprovalNeeded(
            f"{finding.candidate} is shown to beat {finding.against} and waits for approval {approval_id}",
            why=f"the verifier of {context.row.domain} is soft, so a person decides",
            then=f"Decide with `el approve decide {approval_id}` and --approve or --reject; the run then goes on",
        )
    return found


def pending_key(context: Context) -> tuple[int, str] | None:
    """Round and journal key of the newest certification that a person was asked about; None without one."""
    with context.means.database.read() as tx:
        found = [one for one in approvals.of_run(tx, context.run) if one.kind == KIND]
    return (cast(int, found[-1].document["round"]), str(found[-1].document["key"])) if found else None


def paused(row: RunRow, event: Event, columns: dict[str, object]) -> Done:
    """End a generation that waits: the run is paused or, when the decision came first, goes on at once."""

    def write(tx: Connection) -> None:
        if approvals.waiting(tx, row.run) is not None:
            events.append(tx, row.run, event, **columns)
        else:
            approvals.go_on(tx, row.run, row.generation)

    return Done({"state": "paused"}, write=write, rests_on={"stop_requested": row.stop_requested})
