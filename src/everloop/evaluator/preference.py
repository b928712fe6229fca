"""The preference model: a regularised logistic regression on standardised features, with a calibrated probability.

Fitting needs scikit-learn (the extra ``soft-score``); scoring needs only numpy and the parameters, which are numbers in
JSON and never a pickled object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from everloop.errors import Unavailable
from everloop.evaluator.base import Candidate, Embedder, Floats, Verdict
from everloop.evaluator.features import FIELDS, NAMES, VERSION, vectors
from everloop.evaluator.holdout import folds
from everloop.events import Json, JsonValue
from everloop.values import built

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]  # it ships no types

Flags = NDArray[np.bool_]

STRENGTHS = (0.01, 0.1, 1.0)
"""Inverse strengths of the penalty on weights; the one with the least loss on whole runs left out is taken."""
FAR = 5.0
"""Standardised features are cut here: a change unlike all others must not be scored by one huge figure."""


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted parameters."""

    mean: Floats
    """Mean of each feature; 0 where a feature is used as it is."""
    scale: Floats
    """Standard deviation of each feature; 1 where it is used as it is."""
    weights: Floats
    """Weight of each standardised feature."""
    intercept: float
    """Log odds of a candidate whose features are all average."""
    slope: float
    """Factor on the log odds that makes them probabilities of the verdicts."""
    shift: float
    """Added after `slope`."""
    strength: float
    """The inverse strength of the penalty that was chosen."""
    embedder: str | None
    """Name of the embedder; None without one."""

    def chances(self, candidates: Sequence[Candidate], embedder: Embedder | None = None) -> Floats:
        """Probability of each candidate to survive, 0..1, before the penalty for similarity."""
        features = vectors(candidates, embedder)
        return _sigmoid(self.slope * self.log_odds(features) + self.shift)

    def log_odds(self, features: Floats) -> Floats:
        """Log odds before calibration, one for each row of features."""
        return _standard(features, self.mean, self.scale) @ self.weights + self.intercept

    def to_json(self) -> Json:
        """The parameters as JSON; every number comes back as it was."""
        return {
            "features": VERSION,
            "mean": cast(list[JsonValue], self.mean.tolist()),
            "scale": cast(list[JsonValue], self.scale.tolist()),
            "weights": cast(list[JsonValue], self.weights.tolist()),
            "intercept": self.intercept,
            "slope": self.slope,
            "shift": self.shift,
            "strength": self.strength,
            "embedder": self.embedder,
        }

    @classmethod
    def from_json(cls, document: Json) -> Model | None:
        """The inverse of `to_json`; None when the features have changed since."""
        if document["features"] != VERSION:
            return None
        stored = {name: value for name, value in document.items() if name != "features"}
        arrays = {name: np.asarray(document[name], dtype=np.float64) for name in ("mean", "scale", "weights")}
        return built(cls, stored, **arrays)


def fit(verdicts: Sequence[Verdict], negatives: Sequence[Candidate] = (), embedder: Embedder | None = None) -> Model:
    """Fit on verdicts, and on candidates that count as bad. Unavailable without scikit-learn.

    The negatives shape the weights; the probability is calibrated on the verdicts alone, by what was predicted for runs
    that were left out (J. Platt, 1999), because only they occur as often as they are recorded.
    """
    make = _regression()
    features = vectors([one.candidate for one in verdicts] + list(negatives), embedder)
    mean, scale = _moments(features)
    standard = _standard(features, mean, scale)
    good = np.array([one.good for one in verdicts] + [False] * len(negatives))
    n, parts = len(verdicts), _parts(verdicts)
    found = {strength: _left_out(make(strength), standard, good, parts, n) for strength in STRENGTHS}
    lines = {strength: _calibrated(make(1.0), log_odds, good[:n]) for strength, log_odds in found.items()}
    strength = min(found, key=lambda one: _loss(found[one], good[:n], lines[one]))
    slope, shift = lines[strength]
    fitted = make(strength).fit(standard, good)
    weights = np.asarray(fitted.coef_[0], dtype=np.float64)
    name = embedder.name if embedder is not None else None
    return Model(mean, scale, weights, float(fitted.intercept_[0]), slope, shift, strength, name)


def missing() -> str:
    """Why nothing can be fitted on this machine; empty when it can."""
    try:
        _regression()
    except Unavailable as error:
        return error.message
    return ""


class _Regressions:
    """Makes regressions of a given strength."""

    def __init__(self, kind: type[LogisticRegression]) -> None:
        self._kind = kind

    def __call__(self, strength: float) -> LogisticRegression:
        return self._kind(C=strength, solver="newton-cholesky", max_iter=200)


def _regression() -> _Regressions:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise Unavailable(
            "the soft score cannot be fitted", why="scikit-learn is not installed", then="Install everloop[soft-score]"
        ) from error
    return _Regressions(LogisticRegression)


def _moments(features: Floats) -> tuple[Floats, Floats]:
    """Means and deviations of figures and fields; words and embeddings, of length 1 or so, stay."""
    mean, scale = np.zeros(features.shape[1]), np.ones(features.shape[1])
    width = len(NAMES) + FIELDS
    mean[:width] = features[:, :width].mean(axis=0)
    deviation = features[:, :width].std(axis=0)
    scale[:width] = np.where(deviation > 1e-9, deviation, 1.0)
    return mean, scale


def _standard(features: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.clip((features - mean) / scale, -FAR, FAR)


def _parts(verdicts: Sequence[Verdict]) -> list[list[int]]:
    """Whole runs, or stretches of time where there is one run."""
    parts = folds(verdicts)
    return parts or [list(part) for part in np.array_split(np.arange(len(verdicts)), 5)]


def _left_out(model: LogisticRegression, standard: Floats, good: Flags, parts: Sequence[list[int]], n: int) -> Floats:
    """Log odds of each verdict by a model that has not seen its part; the negatives are in every fit."""
    predicted = np.zeros(n)
    for part in parts:
        rest = np.setdiff1d(np.arange(len(good)), part)
        if good[rest].any() and not good[rest].all():
            predicted[part] = model.fit(standard[rest], good[rest]).decision_function(standard[part])
    return predicted


def _loss(log_odds: Floats, good: Flags, line: tuple[float, float]) -> float:
    """Mean logistic loss of calibrated log odds, so that a strength is judged by how it ranks, not by its level."""
    signs = np.where(good, 1.0, -1.0)
    return float(np.logaddexp(0.0, -signs * (line[0] * log_odds + line[1])).mean())


def _calibrated(model: LogisticRegression, log_odds: Floats, good: Flags) -> tuple[float, float]:
    """Slope and shift of the probability; a slope below 0 would turn the ranking round, and becomes 0."""
    if good.all() or not good.any():
        return 1.0, 0.0
    fitted = model.fit(log_odds.reshape(-1, 1), good)
    slope, shift = float(fitted.coef_[0][0]), float(fitted.intercept_[0])
    if slope > 0:
        return slope, shift
    rate = float(good.mean())
    return 0.0, float(np.log(rate / (1 - rate)))


def _sigmoid(values: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(values, -40.0, 40.0)))
