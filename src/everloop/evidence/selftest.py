"""A/A test: how often a gate accepts a candidate that *is* the incumbent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everloop.events import Json
from everloop.evidence.gates.base import Gate
from everloop.evidence.score import Score
from everloop.evidence.simulate import Draw, simulate_steps, step
from everloop.evidence.tally import Outcome, Tally
from everloop.evidence.world import World


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The measured false-accept rate of a gate."""

    policy: str
    """Gate."""
    false_accepts: Score
    """Share of null proposals that were accepted, with its Wilson interval and n."""

    def to_json(self) -> Json:
        """The fields as JSON."""
        return {"policy": self.policy, "false_accepts": self.false_accepts.to_json()}


def selftest(gate: Gate, *, reps: int, seed: int, draw: Draw | None = None, rate: float = 0.5) -> SelfTest:
    """Judge `reps` null proposals.

    `draw(n)` gives n fresh pairs of one system measured twice; None: a built-in world in which all proposals are equal.
    `rate` is the system's share right. ValueError for `reps` below 1.
    """
    if reps < 1:
        raise ValueError(f"reps must be at least 1, not {reps}")
    if draw is None:
        null = World(start=rate, better=0.0, worse=0.0)
        found = simulate_steps(gate, rounds=reps, reps=1, seed=seed, world=null)
        accepted = round((found.far or 0.0) * reps)
        return SelfTest(gate.name, Score.of([True] * accepted + [False] * (reps - accepted)))
    state, outcomes = gate.start(), list[Outcome]()
    for _ in range(reps):
        shown, state, _ = step(gate, state, rate, draw)
        outcomes.append(shown)
    return SelfTest(gate.name, Score.of(outcomes))


def resampled(one: Sequence[Outcome], other: Sequence[Outcome], seed: int) -> Draw:
    """Pairs drawn with replacement from two measurements of one system, the sides swapped by coin.

    The swap makes the null hypothesis true whatever luck the two measurements had. ValueError when empty or unequal.
    """
    if not one or len(one) != len(other):
        raise ValueError("two measurements of the same items are needed, with at least one item")
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Tally:
        places, swap = rng.integers(len(one), size=n), rng.random(n) < 0.5
        left = [other[at] if turned else one[at] for at, turned in zip(places, swap, strict=True)]
        right = [one[at] if turned else other[at] for at, turned in zip(places, swap, strict=True)]
        return Tally.of(left, right)

    return draw
