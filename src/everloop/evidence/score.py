"""Scores and changes: means that carry their interval and n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from everloop.events import JsonValue
from everloop.evidence.tally import Outcome, Tally

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Score:
    """Share right with its 95 % Wilson (1927) interval."""

    mean: float | None
    """Share right among the answered; None when nothing was answered."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int
    """Items answered."""
    missing: int
    """Items whose evaluation failed; never counted as wrong."""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Score:
        """The score of outcomes."""
        answered = [outcome for outcome in outcomes if outcome is not None]
        n, missing = len(answered), len(outcomes) - len(answered)
        if not n:
            return cls(None, None, None, 0, missing)
        low, high = wilson(sum(answered), n)
        return cls(sum(answered) / n, low, high, n, missing)

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {name: getattr(self, name) for name in ("mean", "low", "high", "n", "missing")}


@dataclass(frozen=True, slots=True)
class Change:
    """Mean paired difference with its 95 % interval."""

    mean: float | None
    """Candidate minus baseline; None without pairs."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int
    """Pairs."""

    @classmethod
    def of(cls, tally: Tally) -> Change:
        """The change that a tally shows (normal interval of a mean of differences in {-1, 0, 1})."""
        n, mean = tally.pairs, tally.estimate
        if mean is None:
            return cls(None, None, None, 0)
        # one pseudo-pair each way keeps the interval open where all pairs agree
        variance = (tally.wins + tally.losses + 2) / (n + 2) - mean**2
        half = Z95 * sqrt(max(0.0, variance) / n)
        return cls(mean, max(-1.0, mean - half), min(1.0, mean + half), n)


def wilson(right: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share."""
    share, z2 = right / n, Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # exact at the ends, where rounding would leave 1e-18
    return (max(0.0, middle - half) if right else 0.0), (min(1.0, middle + half) if right < n else 1.0)
