"""Paired outcomes and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Outcome = bool | None
"""Right, wrong, or None: the evaluation failed and the item is missing."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of pairs: candidate against baseline on the same items."""

    wins: int = 0
    """Candidate right, baseline wrong."""
    losses: int = 0
    """Baseline right, candidate wrong."""
    both_right: int = 0
    """Both right."""
    both_wrong: int = 0
    """Both wrong."""
    candidate_missing: int = 0
    """Candidate failed to be evaluated."""
    baseline_missing: int = 0
    """Baseline failed to be evaluated (whatever the candidate did)."""

    @classmethod
    def of(cls, candidate: Sequence[Outcome], baseline: Sequence[Outcome]) -> Tally:
        """Count pairs. ValueError when the lengths differ."""
        wins = losses = right = wrong = candidate_missing = baseline_missing = 0
        for one, other in zip(candidate, baseline, strict=True):
            if other is None:
                baseline_missing += 1
            elif one is None:
                candidate_missing += 1
            elif one and other:
                right += 1
            elif one:
                wins += 1
            elif other:
                losses += 1
            else:
                wrong += 1
        return cls(wins, losses, right, wrong, candidate_missing, baseline_missing)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.wins + other.wins,
            self.losses + other.losses,
            self.both_right + other.both_right,
            self.both_wrong + other.both_wrong,
            self.candidate_missing + other.candidate_missing,
            self.baseline_missing + other.baseline_missing,
        )

    @property
    def pairs(self) -> int:
        """Pairs on which both have an outcome."""
        return self.wins + self.losses + self.both_right + self.both_wrong

    @property
    def estimate(self) -> float | None:
        """Mean difference candidate - baseline over `pairs`; None without pairs."""
        return (self.wins - self.losses) / self.pairs if self.pairs else None
