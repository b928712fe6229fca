"""Who proposes and who reviews: briefings, proposals, reviews."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from everloop.events import JsonValue
from everloop.experience.base import Experience
from everloop.students.base import Row, TrainSettings


@dataclass(frozen=True, slots=True)
class Plan:
    """What a candidate of kind `model` is made from."""

    families: tuple[str, ...]
    """Families whose verified samples are the new rows."""
    rows_per_family: int
    """At most so many new rows a family."""
    replay_share: float
    """Share of each batch drawn from rows already known, 0..1; 0 is no replay."""
    settings: TrainSettings
    """Steps, batch, learning rate."""
    source: str = "collected"
    """``collected``: rows are sampled from the head and verified; ``known``: only rows already known, nothing new."""
    seed_salt: int = 0
    """Mixed into the training seed; another salt is another shuffle of the same plan."""

    def fingerprint(self) -> str:
        """Short hash by which a rejected plan is recognised."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {
            "families": list(self.families),
            "rows_per_family": self.rows_per_family,
            "replay_share": self.replay_share,
            "settings": self.settings.to_json(),
            "source": self.source,
            "seed_salt": self.seed_salt,
        }


@dataclass(frozen=True, slots=True)
class Intervention:
    """One thing a plan changes, in the run document's words."""

    target: str
    """What is changed: ``data``, ``settings``."""
    what: str
    """The change."""
    why: str
    """The observation behind it, with figures."""
    expected: str
    """What it should gain."""
    risk: str
    """What it could break."""


@dataclass(frozen=True, slots=True)
class Rationale:
    """Why a candidate should exist; submitted with its diff."""

    what: str
    """What changes."""
    why: str
    """The evidence for it."""
    expected_gain: str
    """What should improve, by how much."""
    risks: str
    """What could get worse."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate before it is built: plan, Diff and Rationale."""

    plan: Plan
    """What to build."""
    diff: str
    """The change against the head's plan, as text."""
    rationale: Rationale
    """Why."""
    interventions: tuple[Intervention, ...]
    """The same, item by item."""


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """A family in this round's diagnosis."""

    right: int
    """Items answered rightly."""
    n: int
    """Items answered (missing ones not counted)."""

    @property
    def rate(self) -> float | None:
        """Share right; None when nothing was answered."""
        return self.right / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier candidate against the present head, as the operator remembers it."""

    plan: Plan
    """What was tried."""
    decision: str
    """``rejected``, ``reverted`` or ``error``."""
    reason: str
    """First reason."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """Everything an operator sees at the start of its turn. Texts in it are data, not instructions to the platform."""

    run: str
    """Run id."""
    brief: str
    """The owner's goal."""
    round: int
    """This round, from 1."""
    families: Mapping[str, FamilyResult]
    """Diagnosis of the working head, by family."""
    failures: Sequence[Experience]
    """Failure samples, balanced per family."""
    tried: Sequence[Tried]
    """Candidates rejected or reverted since the head last moved, newest first."""
    defaults: TrainSettings
    """The trainer's settings for a round."""
    max_rows_per_family: int
    """The limit in force."""
    directives: Sequence[str] = ()
    """Standing owner instructions, oldest first."""
    steers: Sequence[str] = ()
    """Messages delivered for this turn, oldest first."""
    head_plan: Plan | None = None
    """The plan that made the present head; None for the base. Repeating it is no idea."""
    spend: Callable[[str, int], None] | None = None
    """Called by operators that pay: (what, worst micro-dollars) before each paid request; CapReached stops the run."""


class Operator(Protocol):
    """Makes candidates. Found by the entry-point group ``everloop.operators``."""

    @property
    def name(self) -> str:
        """Name used in a start request."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """Candidates for this round, best first; empty when it has no idea left. Same briefing, same answer."""


class Stage(StrEnum):
    """When an auditor works."""

    SCREEN = "screen"
    """Before anything is built."""
    AUDIT = "audit"
    """After measuring, before deciding."""


@dataclass(frozen=True, slots=True)
class Case:
    """What an auditor looks at."""

    proposal: Proposal
    """The candidate's plan, diff and rationale."""
    tried: Sequence[Tried]
    """Earlier rejects against the same head."""
    head_plan: Plan | None
    """The plan that made the present head; None for the base."""
    rows: Sequence[Row] = ()
    """Training rows (audit stage)."""
    reserved: Callable[[str], str | None] | None = None
    """Prompt -> name of the evaluation set that owns it, None when it is free for training (audit stage)."""
    family_results: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """Family -> (wins, losses, pairs) of candidate against head (audit stage)."""
    floor: float = 0.05
    """A family may not fall by more than this share."""


@dataclass(frozen=True, slots=True)
class Review:
    """An auditor's verdict."""

    kind: str
    """Which auditor."""
    passed: bool
    """Verdict."""
    reason: str
    """Why; for a pass, what was looked at and how much of it."""


class Auditor(Protocol):
    """Reviews a candidate. Never the one who proposed it."""

    @property
    def kind(self) -> str:
        """``contamination``, ``regression``, ``significance``, ``rationale``."""

    @property
    def stage(self) -> Stage:
        """When it works."""

    def review(self, case: Case) -> Review:
        """Look at a case and say pass or reject, with a reason."""
