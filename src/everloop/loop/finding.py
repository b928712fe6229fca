"""What a certification found: every figure that follows from the comparison, as plain values that the journal keeps.

Under a soft verifier a person decides days after the measurement, in another process: what is certified then is read
from here, and nothing is measured again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp
from typing import Self, cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.events import Json
from everloop.evidence.gates.base import Ruling, Verdict
from everloop.evidence.score import Change, Score
from everloop.evidence.tally import Outcome, Tally
from everloop.loop.context import Context
from everloop.loop.lines import Lines
from everloop.loop.measure import by_family, scores
from everloop.loop.screening import tallies_json
from everloop.store import candidates, claims, gates, versions
from everloop.store import scores as stored_scores
from everloop.values import built, iso, utcnow

Scores = Mapping[str, Json]
"""Split -> the fields of its score."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The figures of one certification."""

    candidate: str
    """The working head that was measured."""
    sha256: str
    """Hash of its weights or of its prompt when it was measured."""
    against: str
    """The certified version it was measured against."""
    shown: bool
    """Whether the evidence is there and no constraint was broken."""
    violations: Sequence[str]
    """Constraints that were broken: families that fell, failures to answer."""
    stopped: str
    """The gate's ruling."""
    figures: Json
    """The ``certification`` object of the run document."""
    gate: Json
    """The row of the run document's ``gates``, as far as it is known before the decision."""
    alpha: float | None
    """Error level of the test; None for a policy without one."""
    head: Scores
    """Scores of the working head on the fresh items."""
    certified: Scores
    """Scores of the certified version on the same items."""

    def to_json(self) -> Json:
        """As JSON."""
        return cast(Json, asdict(self))

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """The inverse of `to_json`."""
        return built(cls, document)

    @property
    def told(self) -> str:
        """The figures in words."""
        wins, losses, pairs = (self.figures[name] for name in ("wins", "losses", "pairs"))
        log_e, threshold = self.figures["log_e"], self.figures["threshold"]
        text = f"{wins} won, {losses} lost of {pairs} fresh pairs"
        return text if log_e is None or threshold is None else f"{text}, log e {log_e:.1f} against {threshold:.1f}"


def found(
    context: Context,
    lines: Lines,
    items: Sequence[Item],
    head: Sequence[Outcome],
    certified: Sequence[Outcome],
    verdict: Verdict,
    violations: Sequence[str],
) -> Finding:
    """The finding of a comparison of the working head with the certified version on `items`."""
    tally, threshold = Tally.of(head, certified), verdict.threshold
    figures: Json = {
        "against": lines.version,
        "wins": tally.wins,
        "losses": tally.losses,
        "pairs": tally.pairs,
        "log_e": verdict.log_e,
        "threshold": threshold,
        "stopped": str(verdict.ruling),
    }
    mine, theirs = scores(items, head), scores(items, certified)
    record = _gate_record(lines, tally, verdict, mine["all"], theirs["all"])
    record["families"] = tallies_json(by_family(items, head, certified))
    return Finding(
        candidate=lines.head.name,
        sha256=lines.head.sha256,
        against=lines.version,
        shown=verdict.ruling is Ruling.SHOWN and not violations,
        violations=list(violations),
        stopped=str(verdict.ruling),
        figures=figures,
        gate=record,
        alpha=context.gate.alpha if threshold is None else round(exp(-threshold), 12),
        head={split: score.to_json() for split, score in mine.items()},
        certified={split: score.to_json() for split, score in theirs.items()},
    )


def _gate_record(lines: Lines, tally: Tally, verdict: Verdict, head: Score, certified: Score) -> Json:
    change = Change.of(tally)
    return {
        "gate": "certification",
        "candidate": lines.head.name,
        "baseline": lines.version,
        "passed": None,
        "mean": head.mean,
        "baseline_mean": certified.mean,
        "change": change.mean,
        "low": change.low,
        "high": change.high,
        "n": tally.pairs,
        "missing": tally.candidate_missing + tally.baseline_missing,
        "evidence": {"log_e": verdict.log_e, "threshold": verdict.threshold},
        "control_mean": None,
        "change_from_control": None,
        "control_low": None,
        "control_high": None,
        "control_n": None,
    }


def record(
    tx: Connection, context: Context, lines: Lines, number: int, finding: Finding, version: str | None, said: Json
) -> None:
    """Write what was found and decided, once: candidate, claim, gate; the new version (None: reverted) and its scores.

    `lines` are those of the comparison; `said` is what the record of the gate has besides, where a person decided.
    """
    run, head = context.run, lines.head
    candidates.update(tx, run, finding.candidate, certification=finding.figures)
    occasion = occasion_of(finding.candidate)
    claims.put(
        tx,
        run,
        "certified",
        finding.candidate,
        finding.against,
        occasion=occasion,
        alpha=finding.alpha,
        outcome="shown" if version else "not_shown",
    )
    decided: Json = {"candidate": version or finding.candidate, "passed": version is not None}
    gates.put(tx, run, occasion, finding.gate | decided | said | {"at": iso(utcnow())})
    if version is None:
        return
    versions.put(
        tx,
        run,
        version,
        parent=finding.against,
        round=number,
        candidate=finding.candidate,
        rows=None if context.dry else head.rows,
        artifact=head.to_json(),
    )
    _put_scores(tx, run, version, finding.head)
    _put_scores(tx, run, finding.against, finding.certified)


def occasion_of(candidate: str) -> str:
    """The name of a head's certification: a head that went back never comes again."""
    return f"certification-{candidate}"


def _put_scores(tx: Connection, run: str, subject: str, given: Scores) -> None:
    for split, fields in given.items():
        stored_scores.put(tx, run, subject, "certify", split, built(Score, fields))
