"""Constraints that a candidate must hold whatever its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from everloop.evidence.eprocess import log_e
from everloop.evidence.tally import Tally


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that was broken."""

    kind: str
    """Which constraint."""
    reason: str
    """What was seen, with figures."""


@dataclass(frozen=True, slots=True)
class FamilyFloor:
    """No family may fall by more than `floor`, as far as the evidence goes.

    A bare point estimate would stop good candidates: of 25 to 50 items a family, two or three chance losses already
    lie below -.05. So a family counts as fallen when its estimate is below the floor *and* the losses are evidence of a
    real fall (e-value of losses against wins at least `evidence`).
    """

    floor: float = 0.05
    """Largest fall allowed, as a share of items."""
    evidence: float = 20.0
    """E-value from which a fall counts as real; a false alarm has probability at most its inverse."""

    def judge(self, families: Mapping[str, Tally]) -> list[Violation]:
        """The families that fell, in order."""
        return [
            Violation("family_floor", f"{name} fell by {-(tally.estimate or 0):.3f} ({_figures(tally)})")
            for name, tally in families.items()
            if self._fell(tally)
        ]

    def _fell(self, tally: Tally) -> bool:
        estimate = tally.estimate
        if estimate is None or estimate >= -self.floor:
            return False
        return log_e(tally.losses, tally.wins) >= log(self.evidence)


@dataclass(frozen=True, slots=True)
class FailureRate:
    """A candidate may not fail to be evaluated more often than its baseline, beyond a bound."""

    bound: float = 0.02
    """Largest excess allowed, as a share of items."""

    def judge(self, candidate_missing: int, baseline_missing: int, asked: int) -> Violation | None:
        """A violation, or None; with nothing asked there is nothing to break."""
        if not asked or candidate_missing - baseline_missing <= self.bound * asked:
            return None
        return Violation("failure_rate", f"{candidate_missing} of {asked} failed, of the baseline's {baseline_missing}")


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """A share of the answers must have the form that the domain asks for."""

    share: float = 0.9
    """Least share of well-formed answers."""

    def judge(self, formed: int, answered: int) -> Violation | None:
        """A violation, or None; with nothing answered there is nothing to check."""
        if not answered or formed >= self.share * answered:
            return None
        return Violation("rules", f"only {formed} of {answered} answers are well-formed, {self.share:.0%} must be")


def _figures(tally: Tally) -> str:
    return f"{tally.wins} won, {tally.losses} lost of {tally.pairs} pairs"
