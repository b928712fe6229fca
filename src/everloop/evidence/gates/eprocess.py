"""An e-process on every step: no screen, each candidate is proven against the best version by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from everloop.evidence.gates.base import GateState, Verdict
from everloop.evidence.gates.certification import SequentialTest
from everloop.evidence.gates.single_step import Screenless
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class EProcess(Screenless):
    """Accept when the e-value reaches 1/alpha at any look."""

    alpha: float = 0.005
    """Error level of one test."""
    test: SequentialTest = field(default_factory=SequentialTest)
    """How it stops."""
    name: str = "eprocess"
    """Name in protocols."""

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:  # noqa: ARG002
        """Head against certified version on fresh pairs."""
        return self.test.judge(tally, certified_rate, self.alpha)

    def max_pairs(self) -> int:
        """Most fresh pairs of a test."""
        return self.test.max_pairs
