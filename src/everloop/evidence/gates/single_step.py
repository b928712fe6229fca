"""What policies that judge each candidate by itself share: every accepted step is claimed at once."""

from __future__ import annotations

from dataclasses import replace

from everloop.evidence.gates.base import GateState, Ruling, Verdict
from everloop.evidence.tally import Tally


class Screenless:
    """A policy without a screen: each candidate goes straight to its test on fresh pairs."""

    __slots__ = ()

    dev_n = 0
    """No dev items are used."""
    redraws_head = True
    """Irrelevant without a screen."""

    def start(self) -> GateState:
        """State before the first candidate."""
        return GateState()

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:  # noqa: ARG002
        """MOVE at once."""
        return Verdict(Ruling.MOVE)

    def screened(self, state: GateState, verdict: Verdict) -> GateState:
        """Count the move."""
        return replace(state, moves=state.moves + (verdict.ruling is Ruling.MOVE))

    def wants_certification(self, state: GateState, *, last: bool) -> bool:  # noqa: ARG002
        """After every move."""
        return state.moves > 0

    def certified(self, state: GateState, *, shown: bool) -> GateState:
        """Count the attempt."""
        return GateState(attempts=state.attempts + 1, shown=state.shown + shown)


class Untested:
    """A policy without a test: what its screen takes is claimed."""

    __slots__ = ()

    alpha = None
    """There is no test."""

    def start(self) -> GateState:
        """State before the first candidate."""
        return GateState()

    def screened(self, state: GateState, verdict: Verdict) -> GateState:
        """Count a move."""
        return replace(state, moves=state.moves + (verdict.ruling is Ruling.MOVE))

    def wants_certification(self, state: GateState, *, last: bool) -> bool:  # noqa: ARG002
        """After every move."""
        return state.moves > 0

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:  # noqa: ARG002
        """SHOWN at once, with no figures."""
        return Verdict(Ruling.SHOWN)

    def certified(self, state: GateState, *, shown: bool) -> GateState:
        """Count the attempt."""
        return GateState(attempts=state.attempts + 1, shown=state.shown + shown)

    def max_pairs(self) -> int:
        """None are used."""
        return 0
