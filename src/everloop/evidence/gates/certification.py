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
        ruling, more = self._rule(tally, used, rate, evidence, threshold)
        return Verdict(ruling, more, tally.estimate, evidence, threshold)

    def _rule(self, tally: Tally, used: int, rate: float, evidence: float, threshold: float) -> tuple[Ruling, int]:
        least = min(self.least, self.max_pairs)
        if used < least:
            return Ruling.MORE, max(least - used, min(self.batch, self.max_pairs - used))
        if evidence >= threshold:
            return Ruling.SHOWN, 0
        if log_futility(tally, d_min(rate)) >= -log(self.beta):
            return Ruling.FUTILE, 0
        if used >= self.max_pairs:
            return Ruling.BUDGET, 0
        return Ruling.MORE, min(self.batch, self.max_pairs - used)
