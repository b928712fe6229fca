"""Certifying the line: working head against certified version, paired, on fresh single-use items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from everloop.errors import CheckpointCorrupt, IncumbentUnavailable
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.evidence.constraints import FailureRate, FamilyFloor
from everloop.evidence.gates.base import Ruling
from everloop.evidence.tally import Outcome, Tally
from everloop.guard import snapshots
from everloop.loop import approval, itemsets
from everloop.loop.context import Context, lines_of
from everloop.loop.finding import Finding, found, record
from everloop.loop.journal import Done, nothing
from everloop.loop.kinds import kind_of
from everloop.loop.lines import Lines
from everloop.loop.looking import Looking
from everloop.loop.measure import Measure, by_family
from everloop.store import approvals
from everloop.store import itemsets as stored_sets
from everloop.store.approvals import ApprovalRow
from everloop.store.runs import RunRow

AWAITING = "awaiting"
"""Decision of a comparison that a person has to confirm."""


def certify(context: Context, number: int, *, key: str, last: bool = False) -> Json:
    """Certify when the gate wants to; returns ``{"decision", "version"}``, decision None when it did not.

    Phase ``certify`` measures and, under a hard verifier, decides. Under a soft one phase ``approval`` decides, with a
    person's word on what was measured; Failure APPROVAL_NEEDED while it is not there.
    """
    measured = context.journal.phase(
        number, "certify", lambda row: _certify(context, row, number, key, last), candidate=key, announce=True
    )
    if measured["decision"] != AWAITING:
        return measured
    finding = Finding.from_json(cast(Json, measured["finding"]))
    return context.journal.phase(
        number, "approval", lambda row: _approved(context, row, number, finding), candidate=key
    )


def settle(context: Context) -> None:
    """Take up the decision that the run was paused for, before anything else is done with its lines."""
    if approval.needed(context) and (asked := approval.pending_key(context)) is not None:
        certify(context, asked[0], key=asked[1])


def _certify(context: Context, row: RunRow, number: int, key: str, last: bool) -> Done:
    lines = lines_of(row)
    unmoved = lines.head == lines.certified
    if unmoved or not context.gate.wants_certification(lines.gate, last=last):
        return Done({"decision": None, "version": None})
    looking = Looking(context, lines, number)
    finding, draw = _compare(context, lines, number, looking)

    def used(tx: Connection) -> None:
        attempt = lines.gate.attempts + 1
        looking.keep(tx)
        draw.keep(tx, context.run)
        stored_sets.renew(tx, context.run, "certify", attempt, len(draw.items), 1)
        stored_sets.use(tx, context.run, "certify", attempt)

    if not (finding.shown and approval.needed(context)):
        return _decided(context, row, number, finding, used)

    def ask(tx: Connection) -> None:
        used(tx)
        approval.ask(tx, context, number, key, finding)

    result: Json = {"decision": AWAITING, "version": None, "finding": finding.to_json()}
    return Done(result, [approval.asked(context, number, finding)], ask)


def _approved(context: Context, row: RunRow, number: int, finding: Finding) -> Done:
    word = approval.word(context, finding)
    return _decided(context, row, number, finding, nothing, word)


def _decided(
    context: Context,
    row: RunRow,
    number: int,
    finding: Finding,
    also: Callable[[Connection], None],
    word: ApprovalRow | None = None,
) -> Done:
    """The head becomes a version, or the working line goes back. `also`: further rows; `word`: what a person said."""
    lines = lines_of(row)
    shown = finding.shown and (word is None or word.state == approvals.APPROVED)
    gate = context.gate.certified(lines.gate, shown=shown)
    if shown:
        version = f"v{int(lines.version[1:]) + 1}"
        then = lines.certify(version, gate, number)
        _snapshot(context, then, finding, row)
    else:
        version, then = None, lines.revert(gate)
    result: Json = {"decision": "certified" if shown else "reverted", "version": version}
    result |= {"certification": finding.figures, "violations": _violations(finding, word)}

    def write(tx: Connection) -> None:
        also(tx)
        record(tx, context, lines, number, finding, version, {"approval": word.state} if word else {})

    data = result | {"candidate": finding.candidate}
    phase = "approval" if word else "certify"
    event = Event(EventKind.ROUND, _told(finding, version, word), number, phase, "loop", "gate", data)
    return Done(result, [event], write, then)


def _violations(finding: Finding, word: ApprovalRow | None) -> list[JsonValue]:
    """Why the head is no version although the gate may have ruled for it."""
    if word is None or word.state == approvals.APPROVED:
        return list(finding.violations)
    return [f"approval: rejected by {word.decided_by}: {word.reason}"]


def _compare(context: Context, lines: Lines, number: int, looking: Looking) -> tuple[Finding, itemsets.Draw]:
    """Measure pairs until the gate has decided; each time it is asked is a look.

    Answers are keyed by the attempt, not by the workflow's generation: after a pause those that had come are not paid
    again.
    """
    head_at, certified_at = context.checkpoint(lines.head.checkpoint), context.checkpoint(lines.certified.checkpoint)
    rate = lines.dev.head_rate if lines.dev else 0.5
    head: list[Outcome] = []
    certified: list[Outcome] = []
    draw = itemsets.fresh(context, "certify", 0)
    while True:
        answered = len(certified) - certified.count(None)
        known = certified.count(True) / answered if answered else rate
        tally = Tally.of(head, certified)
        verdict = context.gate.certify(lines.gate, tally, known)
        if head:
            looking.look(tally, verdict)
        if verdict.ruling is not Ruling.MORE:
            break
        more = itemsets.fresh(context, "certify", verdict.more, after=draw)
        measure = Measure(context, f"r{number}.certify.a{lines.gate.attempts}.{len(head)}")
        head += measure.incumbent(head_at, more.items).outcomes
        certified += Measure(context, f"{measure.key}.certified").incumbent(certified_at, more.items).outcomes
        draw = draw.then(more)
    floor = FamilyFloor(cast(float, context.row.protocol["floor"]))
    violations = [violation.reason for violation in floor.judge(by_family(draw.items, head, certified))]
    missing = FailureRate().judge(head.count(None), certified.count(None), len(head))
    violations += [missing.reason] if missing else []
    return found(context, lines, draw.items, head, certified, verdict, violations), draw


def _snapshot(context: Context, then: Lines, finding: Finding, row: RunRow) -> None:
    checkpoint = context.checkpoint(then.certified.checkpoint)
    _unchanged(context, checkpoint, finding.sha256)
    configuration: Json = {
        "plan": then.certified.plan,
        "limits": context.limits.to_json(),
        "protocol_sha256": row.protocol_sha256,
        "known_rows": then.certified.known_rows,
    }
    snapshots.take(
        context.paths, then.version, checkpoint, configuration=configuration, scores=dict(finding.head.items())
    )


def _unchanged(context: Context, checkpoint: Path, sha256: str) -> None:
    """IncumbentUnavailable unless the artifact is whole and the very one that was measured."""
    try:
        found = kind_of(context).verify(checkpoint)
    except CheckpointCorrupt as error:
        raise IncumbentUnavailable("the working head cannot be certified", why=error.message) from error
    if found != sha256:
        raise IncumbentUnavailable("the working head cannot be certified", why="its files were replaced")


def _told(finding: Finding, version: str | None, word: ApprovalRow | None) -> str:
    by = f"; {word.state} by {word.decided_by}" if word else ""
    if version:
        return f"{finding.candidate} certified as {version} against {finding.against}: {finding.told}{by}"
    if word:
        return f"{finding.candidate} not certified: {finding.told}{by}: {word.reason}; the working line goes back"
    why = "; ".join(finding.violations) or finding.stopped
    return (
        f"{finding.candidate} not shown to beat {finding.against} ({why}): {finding.told}; the working line goes back"
    )
