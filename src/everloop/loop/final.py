"""The final gate: v0, best version and control arm on blind items that nobody has seen, used once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json
from everloop.evidence.constraints import FailureRate, FamilyFloor
from everloop.evidence.eprocess import log_e
from everloop.evidence.score import Change, Score
from everloop.evidence.tally import Outcome, Tally
from everloop.loop import itemsets
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.lines import Control, Lines
from everloop.loop.measure import Measure, by_family, scores
from everloop.store import claims, gates
from everloop.store import itemsets as stored_sets
from everloop.store import scores as stored_scores
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

ALPHA = 0.005
"""Error level of each claim of the final gate."""

Outcomes = Mapping[str, Sequence[Outcome]]


def final_gate(context: Context, number: int, key: str) -> Json:
    """Phase: the final gate after round `number`; a later one, after extend, draws new items and keeps this record."""
    return context.journal.phase(
        number, "final", lambda row: _final(context, row, number), candidate=key, announce=True
    )


def _final(context: Context, row: RunRow, number: int) -> Done:
    lines = lines_of(row)
    held = _held(context)
    if held and (held[-1]["candidate"], held[-1]["round"]) == (lines.version, number):
        return Done(
            {"held": True}
        )  # this version has had its gate after this very round: no second draw until it passes
    arm = lines.control
    draw = itemsets.fresh(context, "blind", context.limits.blind_n)
    arms = {"v0": lines.base.checkpoint, lines.version: lines.certified.checkpoint}
    arms |= {"control": arm.checkpoint} if arm else {}
    occasion = f"r{number}.final.{len(held)}"  # not the generation: after a pause, answers are not paid again
    seen: Outcomes = {
        name: Measure(context, f"{occasion}.{name}").incumbent(context.checkpoint(path), draw.items).outcomes
        for name, path in arms.items()
    }
    record = _record(lines, arm, seen, number, _violations(context, lines, draw.items, seen))
    figures = {name: scores(draw.items, outcomes) for name, outcomes in seen.items()}

    def write(tx: Connection) -> None:
        draw.keep(tx, context.run)
        stored_sets.renew(tx, context.run, "blind", row.generation, len(draw.items), 1)
        stored_sets.use(tx, context.run, "blind", row.generation)
        _write(tx, context.run, lines, row.generation, record, figures)

    event = Event(EventKind.ROUND, _told(lines, record), number, "final", "loop", "gate", record)
    return Done(record, [event], write)


def _held(context: Context) -> list[Json]:
    """The final gates so far, oldest first."""
    with context.means.database.read() as tx:
        return [one.document for one in gates.listing(tx, context.run) if one.document["gate"] == "final"]


def _record(lines: Lines, arm: Control | None, seen: Outcomes, number: int, violations: Sequence[str]) -> Json:
    """A row of the run document's ``gates``; everything about a best that is v0 itself stays null."""
    best, base = (Score.of(seen[name]) for name in (lines.version, "v0"))
    trained = arm is not None and arm.blocks > 0 and not arm.missed and arm.pending is None
    control = Score.of(seen["control"]) if trained else None
    against_base = Tally.of(seen[lines.version], seen["v0"])
    against_control = Tally.of(seen[lines.version], seen["control"]) if trained else Tally()
    improved = lines.version != "v0"
    change = Change.of(against_base)
    from_control = Change.of(against_control if improved and trained else Tally())
    evidence = log_e(against_base.wins, against_base.losses) if improved else None
    control_evidence = log_e(against_control.wins, against_control.losses) if improved and trained else None
    threshold = -log(ALPHA)
    return {
        "gate": "final",
        "candidate": lines.version,
        "baseline": "v0",
        "round": number,
        "passed": None if evidence is None else evidence >= threshold and not violations,
        "violations": list(violations),
        "mean": best.mean,
        "baseline_mean": base.mean,
        "change": change.mean if improved else None,
        "low": change.low if improved else None,
        "high": change.high if improved else None,
        "n": against_base.pairs,
        "missing": against_base.candidate_missing + against_base.baseline_missing,
        "evidence": {"log_e": evidence, "threshold": threshold},
        "control_mean": control.mean if control else None,
        "change_from_control": from_control.mean,
        "control_low": from_control.low,
        "control_high": from_control.high,
        "control_n": from_control.n if improved and trained else None,
        "control_evidence": {"log_e": control_evidence, "threshold": threshold},
        "beats_control": None if control_evidence is None else control_evidence >= threshold,
        "alpha": ALPHA,
        "at": iso(utcnow()),
    }


def _violations(context: Context, lines: Lines, items: Sequence[Item], seen: Outcomes) -> list[str]:
    """Families that the best version lost against v0 (each step was held against the last version only), failures."""
    best, base = seen[lines.version], seen["v0"]
    floor = FamilyFloor(cast(float, context.row.protocol["floor"]))
    broken = [violation.reason for violation in floor.judge(by_family(items, best, base))]
    missing = FailureRate().judge(list(best).count(None), list(base).count(None), len(best))
    return broken + ([missing.reason] if missing else [])


def _write(
    tx: Connection, run: str, lines: Lines, generation: int, record: Json, figures: Mapping[str, Mapping[str, Score]]
) -> None:
    occasion = f"final-g{generation}"
    gates.put(tx, run, occasion, record)
    for subject, splits in figures.items():
        for split, score in splits.items():
            stored_scores.put(tx, run, subject, "blind", split, score)
    if lines.version == "v0":
        return
    candidate = lines.certified.name
    for claim, against, shown in (
        ("beats_base", "v0", record["passed"]),
        ("beats_control", "control", record["beats_control"]),
    ):
        if shown is not None:
            outcome = "shown" if shown else "not_shown"
            claims.put(tx, run, claim, candidate, against, occasion=occasion, alpha=ALPHA, outcome=outcome)


def _told(lines: Lines, record: Json) -> str:
    if lines.version == "v0":
        return f"final gate: no version was certified; v0 scores {record['mean']:.3f} on {record['n']:,} blind items"
    verdict = "confirmed" if record["passed"] else "NOT confirmed"
    text = (
        f"final gate: {lines.version} {verdict} against v0 on {record['n']:,} blind items: "
        f"{record['mean']:.3f} against {record['baseline_mean']:.3f}"
    )
    if record["beats_control"] is None:
        return text
    claim = "shown to beat" if record["beats_control"] else "not shown to beat"
    return f"{text}; {claim} the control arm ({record['control_mean']:.3f})"
