"""The sequential test that certifying policies share: e-process to accept, futility to give up, a budget."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from everloop.evidence.eprocess import log_e
from everloop.evidence.futility import d_min, log_futility
from everloop.evidence.gates.base import Ruling, Verdict
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A paired test that may stop at every batch; valid at every stopping time (Ville 1939)."""

    max_pairs: int = 2000
    """Most fresh pairs."""
    batch: int = 20
    """Pairs between two looks."""
    least: int = 40
    """Pairs before the first look."""
    beta: float = 0.5
    """Futility stops when its e-value reaches 1/beta."""

    def judge(self, tally: Tally, rate: float, alpha: float) -> Verdict:
        """MORE, SHOWN, FUTILE or BUDGET at error level `alpha`; `rate` is the baseline's share right.

        Pairs in which one side is missing use up budget but carry no evidence.
        """
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        evidence, threshold = log_e(tally.wins, tally.losses), -log(alpha)
        least = min(self.least, self.max_pairs)
        if used < least:
            more = max(least - used, min(self.batch, self.max_pairs - used))
            return Verdict(Ruling.MORE, more, tally.estimate, evidence, threshold)
        futility = log_futility(tally, d_min(rate))
        ruling, more = self._rule(used, evidence >= threshold, futility >= self.log_futile)
        return Verdict(ruling, more, tally.estimate, evidence, threshold, futility)

    @property
    def log_futile(self) -> float:
        """What futility is held against, as a natural log."""
        return -log(self.beta)

    def _rule(self, used: int, shown: bool, futile: bool) -> tuple[Ruling, int]:
        if shown:
            return Ruling.SHOWN, 0
        if futile:
            return Ruling.FUTILE, 0
        if used >= self.max_pairs:
            return Ruling.BUDGET, 0
        return Ruling.MORE, min(self.batch, self.max_pairs - used)
