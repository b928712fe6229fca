"""Fitting an evaluator on recorded verdicts, measuring it on held-out runs, and saying when it may not speak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from everloop.errors import Unavailable
from everloop.evaluator.base import Candidate, Embedder, Floats, Verdict
from everloop.evaluator.features import vectors
from everloop.evaluator.figures import area, brier
from everloop.evaluator.holdout import EACH, Split, enough, split
from everloop.evaluator.irrelevant import irrelevant, probes
from everloop.evaluator.preference import Model, fit
from everloop.evaluator.report import Probe, Report
from everloop.evaluator.significance import penalty, to_head, to_refused
from everloop.events import Json
from everloop.operators.plans import plan_of

LEAST = 40
"""Verdicts without which nothing is fitted."""
LEAST_EACH = 10
"""Good ones, and bad ones, without which nothing is fitted."""
IRRELEVANT_EACH = 2
"""Obviously irrelevant changes made from each verdict; they count as bad."""
MOST_PROBED = 200
"""Held-out candidates from which irrelevant changes and probes are made."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted evaluator and what is known of it."""

    model: Model | None
    """The parameters; None when it abstains."""
    report: Report
    """Counts and figures."""

    def to_json(self) -> Json:
        """As the store holds it."""
        return {"model": self.model.to_json() if self.model else None, "report": self.report.to_json()}

    @classmethod
    def from_json(cls, document: Json) -> Calibration:
        """The inverse of `to_json`; abstains when it was made by a version that saw other features."""
        report = Report.from_json(cast(Json, document["report"]))
        stored = cast(Json | None, document["model"])
        model = Model.from_json(stored) if stored else None
        if stored and model is None:
            why = "the calibration in force was made by another version: run `el evaluator calibrate`"
            report = replace(report, abstained=why)
        return cls(model, report)


def calibrate(verdicts: Sequence[Verdict], embedder: Embedder | None = None) -> Calibration:
    """Fit on the runs that are not held out and measure on those that are; the model measured is the model returned.

    It abstains, with the reason in the report, below `LEAST` verdicts or `LEAST_EACH` of a class, where the runs cannot
    be divided, without scikit-learn, and where it is not shown to rank held-out verdicts better than chance.
    """
    found = counted(verdicts)
    if found.needed:
        return Calibration(None, found)
    parts = split(verdicts)
    report = _divided(found, parts)
    if report.abstained:
        return Calibration(None, report)
    bad = [one for verdict in parts.training for one in irrelevant(verdict.candidate, IRRELEVANT_EACH)]
    try:
        model = fit(parts.training, bad, embedder)
    except Unavailable as error:
        return Calibration(None, replace(report, abstained=error.message))
    report = _measured(report, model, parts, embedder)
    return Calibration(None if report.abstained else model, report)


def penalty_of(candidate: Candidate) -> float:
    """The factor for a candidate's similarity to the head or to the nearest refused plan."""
    plan = plan_of(cast(Json, candidate.proposal["plan"]))
    return penalty(max(to_head(plan, candidate), to_refused(plan, candidate)))


def counted(verdicts: Sequence[Verdict]) -> Report:
    """The report before anything is fitted; abstains when there are too few."""
    good, labels = sum(one.good for one in verdicts), sum(one.human for one in verdicts)
    bad = len(verdicts) - good
    lacking_good, lacking_bad = max(0, LEAST_EACH - good), max(0, LEAST_EACH - bad)
    needed = max(LEAST - len(verdicts), lacking_good + lacking_bad, 0)
    why = ""
    if needed:
        why = f"{needed} more verdicts are needed: there are {good} good and {bad} bad ones"
        why += f", and nothing is fitted below {LEAST} in all and {LEAST_EACH} of each"
    return Report(abstained=why, n=len(verdicts), positives=good, negatives=bad, labels=labels, needed=needed)


def _divided(report: Report, parts: Split) -> Report:
    """The report with the sizes of the split, abstaining where one side lacks a class."""
    good = sum(one.good for one in parts.held_out)
    why = ""
    if not enough(parts.held_out) or not enough(parts.training):
        told = (
            f"by {parts.by}: {len(parts.training)} to fit on, {good} good and {len(parts.held_out) - good} bad held out"
        )
        why = f"the verdicts cannot be divided {told}; each side needs {EACH} good and {EACH} bad ones"
    return replace(
        report,
        abstained=why,
        split=parts.by,
        repeated=parts.repeated,
        training_n=len(parts.training),
        held_out_n=len(parts.held_out),
        held_out_positives=good,
        held_out_negatives=len(parts.held_out) - good,
    )


def _measured(report: Report, model: Model, parts: Split, embedder: Embedder | None) -> Report:
    """The report with every figure; abstaining when the area is not above one half."""
    held = list(parts.held_out)
    good, runs = [one.good for one in held], [one.group for one in held]
    candidates = [one.candidate for one in held]
    chances = model.chances(candidates, embedder)
    rate = float(np.mean([one.good for one in parts.training]))
    # of the log odds: where the probability is the same for all, the ranking still shows how little is behind it
    curve = area(model.log_odds(vectors(candidates, embedder)), good, runs)
    why = ""
    if curve.low <= 0.5 or model.slope == 0:
        figures = f"{curve.value:.2f} [{curve.low:.2f}, {curve.high:.2f}] on {len(held)} verdicts"
        why = f"it is not shown to rank better than chance: area under the curve {figures} of runs that were held out"
    without = [one for verdict in held[:MOST_PROBED] for one in irrelevant(verdict.candidate, IRRELEVANT_EACH)]
    raw = model.chances(without, embedder)
    return replace(
        report,
        abstained=why,
        auc=curve,
        brier=brier(chances, good),
        brier_of_rate=brier(np.full(len(held), rate), good),
        threshold=rate / 2,
        irrelevant=_probe(without, raw),
        irrelevant_low=float(np.mean(raw < rate / 2)) if len(raw) else None,
        probes=_probed(model, held[:MOST_PROBED], embedder),
    )


def _probed(model: Model, held: Sequence[Verdict], embedder: Embedder | None) -> dict[str, Probe]:
    made = [probes(verdict.candidate) for verdict in held]
    found = {kind: [one[kind] for one in made] for kind in made[0]}
    scored = {kind: _probe(candidates, model.chances(candidates, embedder)) for kind, candidates in found.items()}
    return {kind: probe for kind, probe in scored.items() if probe is not None}


def _probe(candidates: Sequence[Candidate], raw: Floats) -> Probe | None:
    if not candidates:
        return None
    values = [float(chance) * penalty_of(candidate) for chance, candidate in zip(raw, candidates, strict=True)]
    return Probe(len(candidates), float(raw.mean()), max(values))
