"""McNemar's mid-p test on a fixed number of fresh pairs (Fagerland, Lydersen & Laake 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.gates.single_step import Screenless
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class McNemar(Screenless):
    """Accept when the one-sided mid-p is below alpha; no control over many tests, unlike an e-process."""

    pairs: int = 400
    """Fresh pairs of a test."""
    alpha: float = 0.05
    """Error level of one test."""
    name: str = "mcnemar"
    """Name in protocols."""

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:  # noqa: ARG002
        """Head against certified version on `pairs` fresh pairs."""
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        if used < self.pairs:
            return Verdict(Ruling.MORE, self.pairs - used, tally.estimate)
        shown = midp(tally.wins, tally.losses) < self.alpha
        return Verdict(Ruling.SHOWN if shown else Ruling.BUDGET, 0, tally.estimate)

    def max_pairs(self) -> int:
        """Fresh pairs of a test."""
        return self.pairs


def midp(wins: int, losses: int) -> float:
    """One-sided mid-p of the wins among the discordant pairs: P(X > wins) + P(X = wins) / 2, X ~ Bin(w+l, 1/2)."""
    n = wins + losses
    chance = [exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2)) for k in range(wins, n + 1)]
    return sum(chance) - chance[0] / 2
