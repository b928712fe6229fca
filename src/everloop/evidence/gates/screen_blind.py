"""A screen on dev items, then an e-process on fresh blind pairs for what passes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.gates.certification import SequentialTest
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class ScreenBlind:
    """Each candidate that is `step` ahead on the screen is certified at once."""

    dev_n: int = 60
    """Items of the screen."""
    step: float = 0.03
    """Least estimate that passes (a quarter of the headroom, if that is less)."""
    alpha: float = 0.01
    """Error level of one certification."""
    test: SequentialTest = field(default_factory=lambda: SequentialTest(max_pairs=1000))
    """How a certification stops."""
    name: str = "screen_blind"
    """Name in protocols."""
    redraws_head: bool = True
    """The head is measured anew after every move."""

    def start(self) -> GateState:
        """State before the first candidate."""
        return GateState()

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:  # noqa: ARG002
        """Candidate against head on all dev items."""
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        threshold = min(self.step, (1 - head_rate) / 4)
        if used < self.dev_n:
            return Verdict(Ruling.MORE, self.dev_n - used, tally.estimate, None, threshold)
        net = tally.wins - tally.losses
        passed = net > 0 and net >= threshold * tally.pairs - 1e-9
        return Verdict(Ruling.MOVE if passed else Ruling.DROP, 0, tally.estimate, None, threshold)

    def screened(self, state: GateState, verdict: Verdict) -> GateState:
        """Count a move."""
        return replace(state, moves=state.moves + (verdict.ruling is Ruling.MOVE))

    def wants_certification(self, state: GateState, *, last: bool) -> bool:  # noqa: ARG002
        """After every move."""
        return state.moves > 0

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:  # noqa: ARG002
        """Head against certified version on fresh pairs."""
        return self.test.judge(tally, certified_rate, self.alpha)

    def certified(self, state: GateState, *, shown: bool) -> GateState:
        """Count the attempt."""
        return GateState(attempts=state.attempts + 1, shown=state.shown + shown)

    def max_pairs(self) -> int:
        """Most fresh pairs of a certification."""
        return self.test.max_pairs
