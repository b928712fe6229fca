"""The "+3 %" rule: a relative gain on one fixed set. For comparison; it claims noise."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.gates.single_step import Untested
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class Relative(Untested):
    """Accept when the candidate's mean is at least (1 + gain) times the head's; gain shrinks with headroom."""

    dev_n: int = 100
    """Items of the comparison."""
    gain: float = 0.03
    """Relative gain asked for (a quarter of the headroom, if that is less)."""
    name: str = "relative"
    """Name in protocols."""
    redraws_head: bool = False
    """One recorded score on one fixed set."""

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:  # noqa: ARG002
        """Candidate against head on all dev items."""
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        right = tally.both_right + tally.losses
        rate = right / tally.pairs if tally.pairs else head_rate
        threshold = min(self.gain * rate, (1 - rate) / 4)
        if used < self.dev_n:
            return Verdict(Ruling.MORE, self.dev_n - used, tally.estimate, None, threshold)
        net = tally.wins - tally.losses
        moved = net > 0 and net >= threshold * tally.pairs - 1e-9
        return Verdict(Ruling.MOVE if moved else Ruling.DROP, 0, tally.estimate, None, threshold)
