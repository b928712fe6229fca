"""One Protocol for every decision policy.

A gate is pure: it sees counts and its own small state, and answers. The loop, the simulation and the A/A self-test
drive the same object in the same order::

    state = gate.start()
    per candidate:
        tally = Tally()
        while (verdict := gate.screen(state, tally, head_rate)).more:   # verdict.more items of the dev set
            tally += next verdict.more pairs (head outcomes are cached, candidate is run)
        state = gate.screened(state, verdict, tally)
        if gate.wants_certification(state, last=...):
            tally = Tally()
            while (verdict := gate.certify(state, tally, certified_rate)).more:
                tally += next verdict.more fresh pairs (working head against certified version)
            state = gate.certified(state, shown=verdict.outcome is Outcome.SHOWN)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from everloop.events import JsonValue
from everloop.evidence.tally import Tally


class Ruling(StrEnum):
    """What a gate says of a comparison."""

    MORE = "more"
    """Undecided: measure `Verdict.more` further pairs."""
    MOVE = "move"
    """Screen passed: the working line moves."""
    DROP = "drop"
    """Screen failed: the candidate is rejected."""
    SHOWN = "shown"
    """Certification reached its threshold."""
    FUTILE = "futility"
    """Certification will hardly get there; stopped."""
    BUDGET = "budget"
    """Certification used its pairs without reaching its threshold."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A ruling with the figures behind it."""

    ruling: Ruling
    """What to do."""
    more: int = 0
    """Pairs to measure next; 0 unless the ruling is MORE."""
    estimate: float | None = None
    """Mean paired difference so far; None before the first pair."""
    log_e: float | None = None
    """Natural log of the e-value; None where the policy has none."""
    threshold: float | None = None
    """What the estimate (screens) or log_e (certification) is held against; None where there is none."""
    futility: float | None = None
    """Natural log of the e-value against the least gain worth finding; None before the first look, or without one."""


@dataclass(frozen=True, slots=True)
class GateState:
    """What a policy remembers between candidates; plain numbers, stored as JSON."""

    moves: int = 0
    """Moves of the working line since the last certification attempt."""
    gain: float = 0.0
    """Summed screen estimates of those moves."""
    largest: float = 0.0
    """Largest single screen estimate of those moves."""
    attempts: int = 0
    """Certification attempts so far."""
    shown: int = 0
    """Attempts that were shown."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class Gate(Protocol):
    """A decision policy."""

    @property
    def name(self) -> str:
        """Name in protocols and on the command line."""

    @property
    def alpha(self) -> float | None:
        """Error level of one certification (first level where levels change); None where the policy has no test."""

    @property
    def dev_n(self) -> int:
        """Dev items a screen uses; 0 when the policy has no screen."""

    @property
    def redraws_head(self) -> bool:
        """Whether a simulation measures the head anew after a move; the loop always does, or luck would stay."""

    def start(self) -> GateState:
        """State before the first candidate."""

    def screen(self, state: GateState, tally: Tally, head_rate: float) -> Verdict:
        """MORE, MOVE or DROP for a candidate against the working head on dev items.

        `head_rate` is the head's share right on the dev set. A policy without a screen says MOVE at once.
        """

    def screened(self, state: GateState, verdict: Verdict) -> GateState:
        """State after a final screen verdict (MOVE or DROP)."""

    def wants_certification(self, state: GateState, *, last: bool) -> bool:
        """Whether to compare the working head with the certified version now; `last`: the run is about to end."""

    def certify(self, state: GateState, tally: Tally, certified_rate: float) -> Verdict:
        """MORE, SHOWN, FUTILE or BUDGET for the working head against the certified version on fresh pairs.

        A policy without a test says SHOWN at once, with no figures: it claims what its screen took.
        """

    def certified(self, state: GateState, *, shown: bool) -> GateState:
        """State after a certification attempt."""

    def max_pairs(self) -> int:
        """Most fresh pairs one certification can use."""
