"""The drift alarm: soft scores that rise while neither gate nor audits find anything behind them.

An operator that learns what the evaluator likes gets better scores and no better candidates (seed of the project,
section 5.1). The trend is tested with Kendall's rank correlation (H. Mann, 1945; M. Kendall, 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from everloop.evaluator.base import RoundOutcome

WINDOW = 12
"""Newest rounds with an accepted and scored candidate that are looked at."""
LEAST = 8
"""Rounds below which nothing is said."""
LEVEL = 0.01
"""Error level of the trend test. The alarm is asked every round, and so the level is below the usual .05."""

ABOVE = 1.0
"""Standard errors above 0 from which a mean gain counts as substance; few, so that honest progress is left alone."""


def drift(history: Sequence[RoundOutcome]) -> str | None:
    """The alarm in a sentence; None when scores do not rise, when there is substance, or when too little is known.

    Substance is a version certified within the window, or estimates whose mean is above 0 by more than their noise.
    """
    scored = sorted((one for one in history if one.score is not None), key=lambda one: one.round)[-WINDOW:]
    if len(scored) < LEAST:
        return None
    first = scored[0].round
    window = [one for one in history if one.round >= first]
    if any(one.certified for one in window) or _gains([one.estimate for one in scored]):
        return None
    scores = [one.score for one in scored if one.score is not None]
    tau, chance = _trend(scores)
    if tau <= 0 or chance >= LEVEL:
        return None
    return _alarm(window, scores, [one.estimate for one in scored if one.estimate is not None], tau, chance)


def _trend(scores: Sequence[float]) -> tuple[float, float]:
    """Kendall's tau against time, and the chance of one as large without a trend."""
    if len(set(scores)) == 1:
        return 0.0, 1.0
    from scipy.stats import kendalltau

    found = kendalltau(range(len(scores)), scores, alternative="greater")
    return float(found.statistic), float(found.pvalue)


def _gains(estimates: Sequence[float | None]) -> bool:
    """Whether the mean estimate is above 0 by more than `ABOVE` standard errors; too few estimates show nothing."""
    known = [one for one in estimates if one is not None]
    if len(known) < 3:
        return False
    return fmean(known) > ABOVE * stdev(known) / sqrt(len(known))


def _alarm(
    window: Sequence[RoundOutcome], scores: Sequence[float], estimates: Sequence[float], tau: float, chance: float
) -> str:
    half = len(scores) // 2
    passed, rejected = sum(one.audits_passed for one in window), sum(one.audits_rejected for one in window)
    gain = f"their mean measured gain is {fmean(estimates):+.3f}" if estimates else "no gain of theirs was measured"
    before, after = fmean(scores[:half]), fmean(scores[-half:])
    return (
        f"soft scores drift: over rounds {window[0].round} to {window[-1].round} those of {len(scores)} accepted "
        f"candidates rose from {before:.2f} to {after:.2f} (tau {tau:.2f}, p {chance:.2g}), but nothing was certified "
        f"and {gain}; audits passed {passed} and rejected {rejected}. Look at the accepted changes, label the ones "
        f"without substance and run `el evaluator calibrate`"
    )
