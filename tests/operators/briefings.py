"""Briefings for the tests of operators and auditors."""

from __future__ import annotations

from collections.abc import Sequence

from everloop.operators.base import Briefing, FamilyResult, Proposal, Tried
from everloop.operators.plans import TrainingPlan
from everloop.students.base import TrainSettings

DEFAULTS = TrainSettings()
MIXED = {
    "add3": (64, 64),
    "add3_carry": (38, 64),
    "add4_carry": (29, 64),
    "sub3": (63, 64),
    "sub3_borrow": (53, 64),
    "sub4_borrow": (44, 64),
}
WEAK = ("sub3_borrow", "sub4_borrow", "add3_carry", "add4_carry")


def briefing(
    counts: dict[str, tuple[int, int]],
    tried: Sequence[Tried] = (),
    directives: Sequence[str] = (),
    steers: Sequence[str] = (),
    head_plan: TrainingPlan | None = None,
    number: int = 1,
) -> Briefing:
    return Briefing(
        run="r",
        brief="learn carries",
        round=number,
        families={name: FamilyResult(*count) for name, count in counts.items()},
        failures=(),
        tried=tried,
        defaults=DEFAULTS,
        max_rows_per_family=1000,
        directives=directives,
        steers=steers,
        head_plan=head_plan,
    )


def only(proposals: Sequence[Proposal]) -> Proposal:
    assert len(proposals) == 1
    return proposals[0]


def rejected(plan: TrainingPlan) -> Tried:
    return Tried(plan, "rejected", "regression: sub3 fell by 0.08")
