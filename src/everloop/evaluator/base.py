"""What the soft score is about: candidates, scores, verdicts, outcomes of rounds, and an embedding as an option."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from everloop.events import Json
from everloop.operators.base import Plan

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal as it stands before anything is built, with what it is compared with."""

    proposal: Json
    """``{"plan", "diff", "rationale", "interventions"}``, as the store holds it."""
    head_plan: Plan | None
    """The plan that made the present head; None for a base that was trained."""
    tried: Sequence[Plan] = ()
    """Plans refused against this head, newest first."""


@dataclass(frozen=True, slots=True)
class SoftScore:
    """How much a candidate looks like those that survived; never a decision."""

    value: float | None
    """`raw` times `penalty`, 0..1; None when the evaluator abstains."""
    raw: float | None
    """Probability that it survives, 0..1, as calibrated; None when the evaluator abstains."""
    penalty: float
    """Factor 0..1 for similarity to the head or to a refused plan; 1 is no penalty."""
    abstained: str
    """Why there is no score; empty when there is one."""
    n: int
    """Verdicts behind the calibration."""
    auc: float | None
    """Area under the curve on verdicts of runs that were held out; None when it was not measured."""

    def to_json(self) -> Json:
        """The fields as JSON."""
        return cast(Json, asdict(self))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A candidate and whether it survived."""

    candidate: Candidate
    """What was proposed."""
    good: bool
    """Certified, or kept and not reverted later; or what a person said."""
    group: str
    """Run it belongs to; empty for a change that belongs to none, which is never held out."""
    at: str
    """ISO 8601 UTC time of the proposal."""
    name: str = ""
    """Candidate's name in its run; empty for a change that belongs to none."""
    human: bool = False
    """Whether a person said it."""

    @property
    def digest(self) -> str:
        """Hash of everything in the proposal; equal for the same step of a run that was repeated with the same seed."""
        return hashlib.sha256(json.dumps(self.candidate.proposal, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """What one round says about the soft score's hold on reality."""

    round: int
    """Round number."""
    score: float | None
    """Soft score of the candidate that was accepted; None when none was, or when the evaluator abstained."""
    estimate: float | None
    """Its gain on items that did not choose it (a certification's, not the screen's); None when not measured there."""
    certified: bool
    """Whether the round certified a version."""
    audits_passed: int
    """Reviews that passed."""
    audits_rejected: int
    """Reviews that rejected."""


class Embedder(Protocol):
    """Turns texts into vectors: an option beside the counted words, and never the operator's own model."""

    @property
    def name(self) -> str:
        """Name and version; a calibration holds for this embedder only."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of finite numbers a text, always of the same width."""
