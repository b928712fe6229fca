"""Figures of a model on verdicts it was not fitted on: area under the curve with its interval, Brier score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everloop.evaluator.base import Floats

DRAWS = 1000
"""Draws of the bootstrap."""
FEW_RUNS = 5
"""With fewer runs than this, verdicts are drawn and not runs."""


@dataclass(frozen=True, slots=True)
class Area:
    """Area under the ROC curve."""

    value: float
    """Chance that a good candidate scores above a bad one, ties half; 0..1."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""
    drawn: str
    """What the bootstrap drew: ``runs``, or ``verdicts`` where there are fewer than `FEW_RUNS` runs."""


def auc(scores: Floats, good: Sequence[bool]) -> float:
    """Mann and Whitney's U by pairs, 0..1. ValueError unless both classes are there."""
    truth = np.asarray(good, dtype=bool)
    if truth.all() or not truth.any():
        raise ValueError("the area under the curve needs both classes")
    bad = np.sort(scores[~truth])
    below = np.searchsorted(bad, scores[truth], side="left")
    up_to = np.searchsorted(bad, scores[truth], side="right")
    return float((below + up_to).mean() / (2 * len(bad)))


def area(scores: Floats, good: Sequence[bool], runs: Sequence[str], *, seed: int = 0) -> Area:
    """The area with a percentile bootstrap. Verdicts of one run hang together, so whole runs are drawn if there are
    enough; draws without both classes are drawn again.
    """
    truth, random = np.asarray(good, dtype=bool), np.random.default_rng(seed)
    names = sorted(set(runs))
    by_run = len(names) >= FEW_RUNS
    parts = [np.flatnonzero(np.asarray(runs) == name) for name in names] if by_run else []
    drawn: list[float] = []
    for _ in range(20 * DRAWS):
        if by_run:
            chosen = np.concatenate([parts[place] for place in random.integers(len(parts), size=len(parts))])
        else:
            chosen = random.integers(len(truth), size=len(truth))
        if truth[chosen].any() and not truth[chosen].all():
            drawn.append(auc(scores[chosen], list(truth[chosen])))
        if len(drawn) == DRAWS:
            break
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Area(auc(scores, good), float(low), float(high), "runs" if by_run else "verdicts")


def brier(chances: Floats, good: Sequence[bool]) -> float:
    """Mean squared distance of the chance from what happened, 0..1; smaller is better."""
    return float(np.mean((chances - np.asarray(good, dtype=float)) ** 2))
