"""The soft score beside the hard rules: which changes are like those that survive. It never decides."""

from everloop.evaluator.base import Candidate, Embedder, RoundOutcome, SoftScore, Verdict
from everloop.evaluator.calibration import Calibration, calibrate
from everloop.evaluator.histories import verdicts
from everloop.evaluator.scoring import Evaluator, load
from everloop.evaluator.trend import drift

__all__ = [
    "Calibration",
    "Candidate",
    "Embedder",
    "Evaluator",
    "RoundOutcome",
    "SoftScore",
    "Verdict",
    "calibrate",
    "drift",
    "load",
    "verdicts",
]
