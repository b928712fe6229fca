"""Certifying the line: working head against certified version, paired, on fresh single-use items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.errors import CheckpointCorrupt, IncumbentUnavailable
from everloop.events import Event, EventKind, Json
from everloop.evidence.constraints import FailureRate, FamilyFloor
from everloop.evidence.gates.base import Ruling, Verdict
from everloop.evidence.score import Change
from everloop.evidence.tally import Outcome, Tally
from everloop.guard import snapshots
from everloop.loop import itemsets
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.kinds import kind_of
from everloop.loop.lines import Lines
from everloop.loop.measure import Measure, by_family, scores
from everloop.loop.screening import tallies_json
from everloop.store import candidates, claims, gates, versions
from everloop.store import itemsets as stored_sets
from everloop.store import scores as stored_scores
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a certification measured."""

    draw: itemsets.Draw
    """The items, in order."""
    head: Sequence[Outcome]
    """Outcomes of the working head."""
    certified: Sequence[Outcome]
    """Outcomes of the certified version."""
    verdict: Verdict
    """The gate's ruling."""
    violations: Sequence[str]
    """Constraints that were broken: families that fell, failures to answer."""

    @property
    def tally(self) -> Tally:
        """Counts over all items."""
        return Tally.of(self.head, self.certified)

    @property
    def shown(self) -> bool:
        """Whether the head becomes a version: the evidence is there and no family fell."""
        return self.verdict.ruling is Ruling.SHOWN and not self.violations


def certify(context: Context, number: int, *, key: str, last: bool = False) -> Json:
    """Phase: certify when the gate wants to; returns ``{"decision", "version"}``, decision None when it did not."""
    return context.journal.phase(
        number, "certify", lambda row: _certify(context, row, number, last), candidate=key, announce=True
    )


def _certify(context: Context, row: RunRow, number: int, last: bool) -> Done:
    lines = lines_of(row)
    unmoved = lines.head == lines.certified
    if unmoved or not context.gate.wants_certification(lines.gate, last=last):
        return Done({"decision": None, "version": None})
    seen = _compare(context, lines, number)
    gate = context.gate.certified(lines.gate, shown=seen.shown)
    if seen.shown:
        version = f"v{int(lines.version[1:]) + 1}"
        then = lines.certify(version, gate, number)
        _snapshot(context, then, seen, row)
    else:
        version, then = None, lines.revert(gate)
    figures = _figures(lines, seen)
    result: Json = {"decision": "certified" if seen.shown else "reverted", "version": version, "certification": figures}
    result["violations"] = list(seen.violations)

    def write(tx: Connection) -> None:
        seen.draw.keep(tx, context.run)
        stored_sets.renew(tx, context.run, "certify", gate.attempts, len(seen.draw.items), 1)
        stored_sets.use(tx, context.run, "certify", gate.attempts)
        _record(tx, context, number, lines, seen, version)

    data = result | {"candidate": lines.head.name}
    event = Event(EventKind.ROUND, _told(lines, seen, version), number, "certify", "loop", "gate", data)
    return Done(result, [event], write, then)


def _compare(context: Context, lines: Lines, number: int) -> Comparison:
    """Measure pairs until the gate has decided.

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
        verdict = context.gate.certify(lines.gate, Tally.of(head, certified), known)
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
    return Comparison(draw, head, certified, verdict, violations)


def _figures(lines: Lines, seen: Comparison) -> Json:
    """The ``certification`` object of the run document."""
    tally, verdict = seen.tally, seen.verdict
    return {
        "against": lines.version,
        "wins": tally.wins,
        "losses": tally.losses,
        "pairs": tally.pairs,
        "log_e": verdict.log_e,
        "threshold": verdict.threshold,
        "stopped": str(verdict.ruling),
    }


def _snapshot(context: Context, then: Lines, seen: Comparison, row: RunRow) -> None:
    checkpoint = context.checkpoint(then.certified.checkpoint)
    _unchanged(context, checkpoint, then.certified.sha256)
    figures = scores(seen.draw.items, seen.head)
    configuration: Json = {
        "plan": then.certified.plan,
        "limits": context.limits.to_json(),
        "protocol_sha256": row.protocol_sha256,
        "known_rows": then.certified.known_rows,
    }
    snapshots.take(
        context.paths,
        then.version,
        checkpoint,
        configuration=configuration,
        scores={split: score.to_json() for split, score in figures.items()},
    )


def _unchanged(context: Context, checkpoint: Path, sha256: str) -> None:
    """IncumbentUnavailable unless the artifact is whole and the very one that was measured."""
    try:
        found = kind_of(context).verify(checkpoint)
    except CheckpointCorrupt as error:
        raise IncumbentUnavailable("the working head cannot be certified", why=error.message) from error
    if found != sha256:
        raise IncumbentUnavailable("the working head cannot be certified", why="its files were replaced")


def _record(tx: Connection, context: Context, number: int, lines: Lines, seen: Comparison, version: str | None) -> None:
    run, head, now = context.run, lines.head, iso(utcnow())
    candidates.update(tx, run, head.name, certification=_figures(lines, seen))
    threshold = seen.verdict.threshold
    alpha = context.gate.alpha if threshold is None else round(exp(-threshold), 12)
    outcome = "shown" if seen.shown else "not_shown"
    occasion = f"certification-{head.name}"
    claims.put(tx, run, "certified", head.name, lines.version, occasion=occasion, alpha=alpha, outcome=outcome)
    gates.put(tx, run, occasion, _gate_record(lines, seen, version, str(now)))
    if version is None:
        return
    versions.put(
        tx,
        run,
        version,
        parent=lines.version,
        round=number,
        candidate=head.name,
        rows=None if context.dry else head.rows,
        artifact=head.to_json(),
    )
    _put_scores(tx, run, version, seen.draw.items, seen.head)
    _put_scores(tx, run, lines.version, seen.draw.items, seen.certified)


def _put_scores(tx: Connection, run: str, subject: str, items: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
    for split, score in scores(items, outcomes).items():
        stored_scores.put(tx, run, subject, "certify", split, score)


def _gate_record(lines: Lines, seen: Comparison, version: str | None, now: str) -> Json:
    """A row of the run document's ``gates``."""
    change = Change.of(seen.tally)
    figures, verdict = scores(seen.draw.items, seen.head), seen.verdict
    baseline = scores(seen.draw.items, seen.certified)
    return {
        "gate": "certification",
        "candidate": version or lines.head.name,
        "baseline": lines.version,
        "passed": seen.shown,
        "mean": figures["all"].mean,
        "baseline_mean": baseline["all"].mean,
        "change": change.mean,
        "low": change.low,
        "high": change.high,
        "n": seen.tally.pairs,
        "missing": seen.tally.candidate_missing + seen.tally.baseline_missing,
        "evidence": {"log_e": verdict.log_e, "threshold": verdict.threshold},
        "control_mean": None,
        "change_from_control": None,
        "families": tallies_json(by_family(seen.draw.items, seen.head, seen.certified)),
        "at": now,
    }


def _told(lines: Lines, seen: Comparison, version: str | None) -> str:
    tally, verdict = seen.tally, seen.verdict
    figures = f"{tally.wins} won, {tally.losses} lost of {tally.pairs} fresh pairs"
    if verdict.log_e is not None and verdict.threshold is not None:
        figures += f", log e {verdict.log_e:.1f} against {verdict.threshold:.1f}"
    if version:
        return f"{lines.head.name} certified as {version} against {lines.version}: {figures}"
    why = "; ".join(seen.violations) or str(verdict.ruling)
    return f"{lines.head.name} not shown to beat {lines.version} ({why}): {figures}; the working line goes back"
