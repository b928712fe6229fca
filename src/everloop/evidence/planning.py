"""Before spending: what a protocol can detect, and what it can cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from everloop.evidence.gates.base import Gate, Ruling
from everloop.evidence.tally import Tally

_NORMAL_80 = 0.8416212335729143


def minimum_detectable_effect(gate: Gate, *, discordant: float = 0.2) -> float | None:
    """Least true gain that a certification shows with 80 % power on its full budget; None without a test.

    Normal approximation of the paired difference: the least net share of wins that the gate's own rule accepts at its
    last look, plus the 80 % quantile of the difference's sampling error at a share `discordant` of discordant pairs.
    """
    n = gate.max_pairs()
    if n == 0:
        return None
    pairs = round(discordant * n)
    least = _least_accepted(gate, n, pairs)
    if least is None:
        return None
    spread = sqrt(max(discordant - (least / n) ** 2, 0.0) / n)
    return min(1.0, round(least / n + _NORMAL_80 * spread, 4))


def _least_accepted(gate: Gate, n: int, discordant: int) -> int | None:
    """Least net wins among `discordant` pairs of `n` that the gate accepts, by bisection (rules are monotone)."""
    low, high = discordant // 2, discordant
    state = gate.start()

    def accepted(wins: int) -> bool:
        ties = n - discordant
        tally = Tally(wins, discordant - wins, ties // 2, ties - ties // 2)
        return gate.certify(state, tally, 0.5).ruling is Ruling.SHOWN

    if not accepted(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if accepted(middle) else (middle + 1, high)
    return 2 * low - discordant


@dataclass(frozen=True, slots=True)
class Cost:
    """The most a protocol can cost."""

    evaluations: int
    """Item evaluations."""
    usd: float
    """US dollars of jobs."""


def worst_case(
    gate: Gate, *, rounds: int, blind_n: int, arms: int = 3, job_usd: float = 0.0, jobs: int | None = None
) -> Cost:
    """Every candidate screened in full, every round certified to its budget, one final gate over `arms` arms."""
    screens = rounds * 2 * gate.dev_n
    certifications = rounds * 2 * gate.max_pairs()
    return Cost(screens + certifications + arms * blind_n, (2 * rounds + 1 if jobs is None else jobs) * job_usd)
