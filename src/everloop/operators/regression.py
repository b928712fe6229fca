"""Auditor: no family may fall below the floor, whatever the total says."""

from __future__ import annotations

from everloop.evidence.constraints import FamilyFloor
from everloop.evidence.tally import Tally
from everloop.operators.base import Case, Review, Stage


class RegressionAuditor:
    """Holds the floor under each family's paired outcomes."""

    kind = "regression"
    """Kind of its reviews."""
    stage = Stage.AUDIT
    """Needs the measurement."""
    asks = False
    """It is a rule."""

    def review(self, case: Case) -> Review:
        """Reject if a family fell by more than the floor allows, or if no family was measured."""
        tallies = {name: _tally(*counts) for name, counts in case.family_results.items()}
        measured = {name: tally for name, tally in tallies.items() if tally.pairs}
        if not measured:
            return Review(self.kind, False, "no family was measured, so none is known to have held")
        violations = FamilyFloor(case.floor).judge(measured)
        if violations:
            return Review(self.kind, False, "; ".join(violation.reason for violation in violations))
        worst = min(measured, key=lambda name: (measured[name].estimate or 0.0, name))
        pairs = sum(tally.pairs for tally in measured.values())
        change = measured[worst].estimate or 0.0
        reason = f"none of {len(measured)} families was shown to fall over {pairs} pairs"
        lowest = f"the lowest is {worst} at {change:+.3f} (n={measured[worst].pairs}, floor -{case.floor:g})"
        return Review(self.kind, True, f"{reason}; {lowest}")


def _tally(wins: int, losses: int, pairs: int) -> Tally:
    """Counts as a tally; ties are all booked as both right, which no floor looks at."""
    return Tally(wins, losses, pairs - wins - losses)
