"""The e-process for paired binary outcomes.

With w wins and l losses among the discordant pairs, a uniform mixture over the alternatives theta > 1/2 gives

    E = 2^(w+l) * 2 * B(w+1, l+1) * (1 - I_{1/2}(w+1, l+1))

(B the beta function, I the regularised incomplete beta function). Under the null hypothesis "a discordant pair is a win
with probability at most 1/2" E is a non-negative supermartingale that starts at 1, so by Ville's inequality (1939) the
chance that it ever reaches 1/alpha is at most alpha, whatever the stopping rule.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log

import numpy as np


@lru_cache(maxsize=1 << 16)
def log_e(wins: int, losses: int) -> float:
    """Natural log of E. ValueError for negative counts.

    The tail 1 - I_{1/2}(w+1, l+1) is P(Bin(w+l+1, 1/2) <= w); it is summed in logs, so nothing underflows.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"counts cannot be negative: {wins}, {losses}")
    n = wins + losses
    beta = lgamma(wins + 1) + lgamma(losses + 1) - lgamma(n + 2)
    return float(beta + _log_sum_choose(n + 1, wins))


def _log_sum_choose(n: int, upto: int) -> float:
    """Log of the sum of C(n, k) for k = 0 .. upto; the powers of two of E and of the tail cancel."""
    if upto >= n:
        return n * log(2)
    logs = _log_factorials(n)
    terms = logs[n] - logs[: upto + 1] - logs[n - upto : n + 1][::-1]
    top = float(terms.max())
    return top + float(np.log(np.exp(terms - top).sum()))


_table = np.zeros(2)


def _log_factorials(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    global _table
    if len(_table) <= n:
        size = max(n + 1, 2 * len(_table), 4096)
        _table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size)))])
    return _table
