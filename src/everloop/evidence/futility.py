"""Futility: evidence that a gain of at least d_min is not there, so that measuring on is a waste.

A betting e-process (Waudby-Smith & Ramdas 2024) against "mean paired difference >= d_min" on differences D in
{-1, 0, 1}: the mean over lambda of prod(1 - lambda (D - d_min)). It never adds to false claims, only to misses.
"""

from __future__ import annotations

import numpy as np

from everloop.evidence.tally import Tally

LAMBDAS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7])
"""The bets that are mixed."""


def d_min(rate: float) -> float:
    """The least gain worth looking for at a baseline rate: .04, or half of the headroom near the ceiling."""
    return min(0.04, (1 - rate) / 2)


def log_futility(tally: Tally, gain: float) -> float:
    """Natural log of the e-value against a gain of at least `gain`."""
    ties = tally.both_right + tally.both_wrong
    logs = (
        tally.wins * np.log1p(-LAMBDAS * (1 - gain))
        + tally.losses * np.log1p(LAMBDAS * (1 + gain))
        + ties * np.log1p(LAMBDAS * gain)
    )
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).mean()))
