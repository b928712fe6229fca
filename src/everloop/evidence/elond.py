"""e-LOND levels (Xu & Ramdas 2024): control of the false discovery rate over all certifications of a run."""

from __future__ import annotations

from functools import cache
from math import exp, log, sqrt

_HORIZON = 100_000


def gamma(place: int) -> float:
    """Weight of the place-th test (from 1); the weights are summable, normalised over the first 100,000."""
    return _raw(place) / _total()


def level(alpha: float, place: int, shown: int) -> float:
    """alpha_t = alpha * gamma_t * (D_{t-1} + 1) with `shown` = D_{t-1} discoveries before."""
    return alpha * gamma(place) * (shown + 1)


def _raw(place: int) -> float:
    return log(max(place, 2)) / (place * exp(sqrt(log(place))))


@cache
def _total() -> float:
    return sum(_raw(place) for place in range(1, _HORIZON + 1))
