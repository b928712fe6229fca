"""e-LOND over all steps of a run: levels that shrink with every test and recover with every discovery."""

from __future__ import annotations

from dataclasses import dataclass, field

from everloop.evidence.elond import level
from everloop.evidence.gates.base import GateState, Verdict
from everloop.evidence.gates.certification import SequentialTest
from everloop.evidence.gates.single_step import Screenless
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class ELond(Screenless):
    """Controls the false discovery rate of all claims of a run at `fdr` (Xu & Ramdas 2024)."""

    fdr: float = 0.05
    """False discovery rate over the run."""
    test: SequentialTest = field(default_factory=SequentialTest)
    """How a test stops."""
    name: str = "elond"
    """Name in protocols."""

    @property
    def alpha(self) -> float:
        """Level of the first test."""
        return level(self.fdr, 1, 0)

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:
        """Head against certified version at the level of this attempt."""
        return self.test.judge(tally, certified_rate, level(self.fdr, state.attempts + 1, state.shown))

    def max_pairs(self) -> int:
        """Most fresh pairs of a test."""
        return self.test.max_pairs
