"""Who proposes and who reviews: plans, briefings, proposals, reviews, and the desk of a language model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from everloop.events import JsonValue
from everloop.experience.base import Experience
from everloop.gateway.base import Use
from everloop.students.base import Row, TrainSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model

T = TypeVar("T")


class Plan(Protocol):
    """What a candidate is made from; the kinds of plans are in `everloop.operators.plans`."""

    @property
    def families(self) -> tuple[str, ...]:
        """Families it is meant to help."""

    @property
    def renews(self) -> bool:
        """Whether the same plan makes another candidate from another head."""

    def fingerprint(self) -> str:
        """Short hash by which a rejected plan is recognised."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON, ``kind`` among them."""

    def describe(self) -> Mapping[str, object]:
        """Field -> value in words, for a diff."""

    def similarity(self, other: Plan) -> float:
        """How much two plans would build the same thing, 0..1; 0 for a plan of another kind."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """One thing a plan changes, in the run document's words."""

    target: str
    """What is changed: ``data``, ``settings``; in a dry run ``prompt``, ``context``."""
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
class RoundSummary:
    """An earlier round, as the store summarises it."""

    round: int
    """Which."""
    decision: str
    """``kept certified reverted rejected error``."""
    plan: str
    """The plan in words."""
    summary: str
    """What became of it."""


History = Callable[[int, int], Sequence[RoundSummary]]
"""(before, limit) -> summaries of at most `limit` rounds before round `before`, newest first; read from the store."""


class Desk(Protocol):
    """What an operator or auditor that is a language model works at; the loop pays for and journals what happens there.

    Worked again after a crash, the same requests get the journalled answers, and turns the journalled steers.
    """

    def has(self, role: Use) -> bool:
        """Whether a model is configured for the role in this run."""

    def run(self, role: Use, work: Callable[[Model], Awaitable[T]]) -> T:
        """Run `work` with the role's model on the gateway's event loop, from synchronous code, and return its result.

        ModelNotConfigured without a model, CapReached when a request would pass a cap, ModelUnavailable and
        ModelRefused as the gateway raises them: none of them is to be caught by an operator.
        """

    async def turn(
        self, role: Use, tool: str | None, text: str, data: Mapping[str, JsonValue], *, deliver: bool = True
    ) -> Sequence[str]:
        """A turn boundary: readers see role, tool and text; returns the steers that have arrived, each only once.

        Without `deliver` steers stay queued for the next turn: for an end, after which the model is not asked again.
        """


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
    """The plan that made the present head; None for a base that was trained. Repeating it is no idea."""
    subject: str = "training"
    """What a plan makes: ``training`` (a `TrainingPlan`) or ``prompt`` (a `PromptPlan`)."""
    history: History | None = None
    """Reads summaries of earlier rounds; None in tests without a store."""
    desk: Desk | None = None
    """For operators that are language models; None where there is no gateway."""
    candidates: int = 1
    """Candidates that are built this round; more may be proposed, and the best of them are taken."""
    spend: Callable[[str, int], None] | None = None
    """Called by operators that pay: (what, worst micro-dollars) before each paid request; CapReached stops the run."""


class Operator(Protocol):
    """Makes candidates. Found by the entry-point group ``everloop.operators``."""

    @property
    def name(self) -> str:
        """Name used in a start request."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What its plans make: ``training`` (live runs), ``prompt`` (dry runs), or both."""

    @property
    def asks(self) -> bool:
        """Whether it is a language model, so that a run needs one for it."""

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
    brief: str = ""
    """The owner's goal."""
    families: Mapping[str, FamilyResult] = field(default_factory=dict)
    """This round's diagnosis of the head (screen stage)."""
    desk: Desk | None = None
    """For auditors that are language models; None where there is no gateway."""


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
        """``contamination``, ``regression``, ``significance``, ``rationale``, ``figures``, ``reviewer``, ..."""

    @property
    def stage(self) -> Stage:
        """When it works."""

    @property
    def asks(self) -> bool:
        """Whether it is a language model; it is then asked last, and only about what the rules let through."""

    def review(self, case: Case) -> Review:
        """Look at a case and say pass or reject, with a reason."""
