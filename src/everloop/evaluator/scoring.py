"""The evaluator in force: scores candidates before they are built, and ranks an operator's own against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from everloop.evaluator.base import Candidate, Embedder, SoftScore
from everloop.evaluator.calibration import Calibration, penalty_of
from everloop.evaluator.report import Report
from everloop.store import calibrations

NEVER = "it was never calibrated: run `el evaluator calibrate`"


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Scores beside the hard rules; it decides nothing."""

    calibration: Calibration
    """Parameters and report."""
    embedder: Embedder | None = None
    """The embedder of the calibration; None without one."""

    @property
    def abstains(self) -> str:
        """Why it scores nothing; empty when it does."""
        model = self.calibration.model
        if model is None:
            return self.calibration.report.abstained or NEVER
        if model.embedder != (self.embedder.name if self.embedder else None):
            return f"the calibration in force needs the embedder {model.embedder or 'none'}"
        return ""

    def score(self, candidate: Candidate) -> SoftScore:
        """The score of a candidate; without a value where it abstains."""
        report, factor = self.calibration.report, penalty_of(candidate)
        auc = report.auc.value if report.auc is not None else None
        model, why = self.calibration.model, self.abstains
        if model is None or why:
            return SoftScore(None, None, factor, why, report.n, auc)
        raw = float(model.chances([candidate], self.embedder)[0])
        return SoftScore(raw * factor, raw, factor, "", report.n, auc)

    def rank(self, candidates: Sequence[Candidate]) -> list[int]:
        """Indices, best first; equals keep the operator's order, and so do all where it abstains."""
        values = [self.score(candidate).value for candidate in candidates]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return list(range(len(values)))
        return sorted(range(len(known)), key=lambda place: -known[place])


def load(tx: Connection, embedder: Embedder | None = None) -> Evaluator:
    """The evaluator of the newest calibration; one that abstains before the first."""
    newest = calibrations.newest(tx)
    if newest is None:
        return Evaluator(Calibration(None, Report(abstained=NEVER)), embedder)
    return Evaluator(Calibration.from_json(newest.document), embedder)
