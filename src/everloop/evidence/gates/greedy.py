"""Greedy search: whatever scores higher on one fixed set is taken. For comparison; it claims noise."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.gates.single_step import Untested
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class Greedy(Untested):
    """Accept when the mean on `dev_n` items is higher."""

    dev_n: int = 100
    """Items of the comparison."""
    name: str = "greedy"
    """Name in protocols."""
    redraws_head: bool = False
    """One recorded score on one fixed set, as such tools do."""

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:  # noqa: ARG002
        """Candidate against head on all dev items."""
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        if used < self.dev_n:
            return Verdict(Ruling.MORE, self.dev_n - used, tally.estimate, None, 0.0)
        ruling = Ruling.MOVE if tally.wins > tally.losses else Ruling.DROP
        return Verdict(ruling, 0, tally.estimate, None, 0.0)
