"""Who proposes candidates and who reviews them: `base` has the interfaces, `registry` finds operators by name."""

from everloop.operators.base import (
    Auditor,
    Briefing,
    Case,
    Desk,
    FamilyResult,
    Intervention,
    Operator,
    Plan,
    Proposal,
    Rationale,
    Review,
    RoundSummary,
    Stage,
    Tried,
)
from everloop.operators.plans import PromptPlan, TrainingPlan

__all__ = [
    "Auditor",
    "Briefing",
    "Case",
    "Desk",
    "FamilyResult",
    "Intervention",
    "Operator",
    "Plan",
    "PromptPlan",
    "Proposal",
    "Rationale",
    "Review",
    "RoundSummary",
    "Stage",
    "TrainingPlan",
    "Tried",
]
