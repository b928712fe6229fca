"""Who proposes candidates and who reviews them: `base` has the interfaces, `registry` finds operators by name."""

from everloop.operators.base import (
    Auditor,
    Briefing,
    Case,
    FamilyResult,
    Intervention,
    Operator,
    Plan,
    Proposal,
    Rationale,
    Review,
    Stage,
    Tried,
)

__all__ = [
    "Auditor",
    "Briefing",
    "Case",
    "FamilyResult",
    "Intervention",
    "Operator",
    "Plan",
    "Proposal",
    "Rationale",
    "Review",
    "Stage",
    "Tried",
]
