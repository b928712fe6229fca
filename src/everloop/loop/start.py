"""The beginning of a run: the judge proves itself on gold items, v0 is built, the lines begin."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from everloop.errors import JudgeDisagrees
from everloop.events import Event, EventKind, Json
from everloop.evidence.protocol import EvaluationProtocol
from everloop.loop import itemsets
from everloop.loop.context import Context
from everloop.loop.journal import Done
from everloop.loop.kinds import kind_of
from everloop.loop.lines import Artifact, Lines
from everloop.store import versions
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

NULL_ANSWERS = ("", "{}", "I can't help with that.", "0")
"""Answers that need no ability; a judge that lets one of the first three pass, or the last on most items, is broken."""
BOUND = 0.01
"""Share of gold items on which a judge may disagree."""


def begin(context: Context) -> None:
    """Everything before round 1; each part is a phase of round 0."""
    context.journal.phase(0, "begin", lambda row: _begin(context, row))
    context.journal.phase(0, "calibrate", lambda _: _calibrate(context))
    artifact = kind_of(context).base(context)
    context.journal.phase(0, "baseline", lambda _: _baseline(context, artifact))


def _begin(context: Context, row: RunRow) -> Done:
    EvaluationProtocol.from_json(row.protocol, row.protocol_sha256)  # a protocol changed since its start is refused
    text = f"run {row.run} starts: {row.rounds_target} rounds of {row.domain} with {context.operator.name}"
    columns = {"state": "running", "started_at": iso(utcnow())}
    return Done({}, [Event(EventKind.ROUND, text, 0, "begin", "loop")], columns=columns)


def _calibrate(context: Context) -> Done:
    """The judge against gold items and null probes; it fails closed."""
    draw = itemsets.fresh(context, "calib", context.limits.calib_n)
    verify = context.domain.verify
    gold = sum(1 for item in draw.items if not verify(item, item.answer))
    null = sum(1 for item in draw.items for answer in NULL_ANSWERS if answer != item.answer and verify(item, answer))
    n, allowed = len(draw.items), BOUND * len(draw.items)
    figures = f"{gold} of {n} gold answers refused, {null} null answers passed"
    if gold > allowed or null > allowed:
        judge = "/".join(context.domain.judge)
        raise JudgeDisagrees(f"judge {judge} disagrees with its gold items", why=figures, then="Mend the judge")
    event = Event(EventKind.TOOL_RESULT, f"judge agrees with its gold items: {figures}", 0, "calibrate", "auditor")
    result: Json = {"gold_refused": gold, "null_passed": null, "n": n}
    return Done(result, [event], lambda tx: draw.keep(tx, context.run))


def _baseline(context: Context, artifact: Artifact) -> Done:
    lines = Lines(head=artifact, certified=artifact, version="v0", base=artifact, gate=context.gate.start())
    lines = replace(lines, control=kind_of(context).control(context, lines))

    def write(tx: Connection) -> None:
        versions.put(
            tx,
            context.run,
            "v0",
            parent=None,
            round=None,
            candidate=None,
            rows=None if context.dry else artifact.rows,
            artifact=artifact.to_json(),
        )

    what = "a prompt" if context.dry else f"trained on {artifact.rows} rows"
    event = Event(EventKind.MESSAGE, f"v0 is {what}", 0, "baseline", "loop")
    return Done({"sha256": artifact.sha256}, [event], write, lines)
