"""The default policy: the working line moves on a cheap screen, the certified line on an e-process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.gates.certification import SequentialTest
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class TwoLine:
    """Certify the line, not the step. Defaults suit loops in which evaluations are what costs."""

    dev_n: int = 60
    """Dev items of a full screen."""
    look: int = 20
    """Items after which a candidate that is not ahead is dropped; 0: no early look."""
    ahead: int = 1
    """Items it must be ahead by at that look."""
    step: float = 0.05
    """Least estimate that moves the working line (a quarter of the headroom, if that is less)."""
    moves: int = 8
    """Moves after which the line is certified."""
    single: float = 0.20
    """A single screen estimate that calls for certification at once."""
    total: float = 0.60
    """Summed screen estimates that call for it."""
    alpha: float = 0.005
    """Error level of one certification."""
    test: SequentialTest = field(default_factory=SequentialTest)
    """How a certification stops."""
    name: str = "two_line"
    """Name in protocols."""
    redraws_head: bool = True
    """The head is measured anew after every move, or its luck would stay in the comparison."""

    def start(self) -> GateState:
        """State before the first candidate."""
        return GateState()

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:  # noqa: ARG002
        """Candidate against head on dev items."""
        used = tally.pairs + tally.candidate_missing + tally.baseline_missing
        threshold = min(self.step, (1 - head_rate) / 4)
        first = min(self.look or self.dev_n, self.dev_n)  # a dev set may be smaller than the early look
        if used < first:
            return Verdict(Ruling.MORE, first - used, tally.estimate, None, threshold)
        net = tally.wins - tally.losses
        if self.look and used < self.dev_n:
            if net < self.ahead:
                return Verdict(Ruling.DROP, 0, tally.estimate, None, threshold)
            return Verdict(Ruling.MORE, self.dev_n - used, tally.estimate, None, threshold)
        moved = net > 0 and (tally.estimate or 0.0) >= threshold
        return Verdict(Ruling.MOVE if moved else Ruling.DROP, 0, tally.estimate, None, threshold)

    def screened(self, state: GateState, verdict: Verdict) -> GateState:
        """Count a move and its estimate."""
        if verdict.ruling is not Ruling.MOVE:
            return state
        gain = verdict.estimate or 0.0
        return replace(state, moves=state.moves + 1, gain=state.gain + gain, largest=max(state.largest, gain))

    def wants_certification(self, state: GateState, *, last: bool) -> bool:
        """After enough moves, enough gain, or at the end."""
        if state.moves == 0:
            return False
        return last or state.moves >= self.moves or state.largest >= self.single or state.gain >= self.total

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:  # noqa: ARG002
        """Working head against certified version on fresh pairs."""
        return self.test.judge(tally, certified_rate, self.alpha)

    def certified(self, state: GateState, *, shown: bool) -> GateState:
        """Start counting moves anew."""
        return GateState(attempts=state.attempts + 1, shown=state.shown + shown)

    def max_pairs(self) -> int:
        """Most fresh pairs one certification can use."""
        return self.test.max_pairs
