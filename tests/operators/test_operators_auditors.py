"""Each auditor catches a planted defect and passes its clean twin."""

from __future__ import annotations

from dataclasses import replace

import pytest
from briefings import MIXED, briefing, only, rejected

from everloop.operators.auditors import PANEL, panel
from everloop.operators.base import Case, Proposal, Stage
from everloop.operators.contamination import ContaminationAuditor
from everloop.operators.curriculum import Curriculum
from everloop.operators.plans import TrainingPlan
from everloop.operators.rationale import RationaleAuditor
from everloop.operators.regression import RegressionAuditor
from everloop.operators.significance import SignificanceAuditor
from everloop.operators.useless import Useless
from everloop.students.base import Row

CLEAN = only(Curriculum().propose(briefing(MIXED)))
RESERVED = {"812+109=": "dev", "777-123=": "calib"}


def case(proposal: Proposal = CLEAN, **more: object) -> Case:
    return Case(**({"proposal": proposal, "tried": (), "head_plan": None} | more))  # type: ignore[arg-type]


def test_the_panel_has_every_kind_once() -> None:
    assert [auditor.kind for auditor in panel(PANEL)] == ["rationale", "significance", "contamination", "regression"]
    assert [auditor.stage for auditor in panel(PANEL)] == [Stage.SCREEN] * 2 + [Stage.AUDIT] * 2


def test_contamination() -> None:
    rows = [Row("add3_carry", "147+385=", "532"), Row("add3_carry", "999+1=", "1000")]
    clean = ContaminationAuditor().review(case(rows=rows, reserved=RESERVED.get))
    assert clean.passed and "none of 2 training rows" in clean.reason
    planted = [*rows, Row("add3_carry", "812+109=", "921"), Row("sub3", "777-123=", "654")]
    caught = ContaminationAuditor().review(case(rows=planted, reserved=RESERVED.get))
    assert not caught.passed
    assert "1 of calib, 1 of dev" in caught.reason and "812+109=" in caught.reason


def test_contamination_that_cannot_be_checked_does_not_pass() -> None:
    assert not ContaminationAuditor().review(case(rows=[Row("a", "b", "c")])).passed


def test_regression() -> None:
    held = {"add3_carry": (60, 3, 200), "sub3": (1, 2, 200)}
    clean = RegressionAuditor().review(case(family_results=held))
    assert clean.passed and "sub3" in clean.reason and "400 pairs" in clean.reason
    fell = RegressionAuditor().review(case(family_results=held | {"sub3": (0, 120, 200)}))
    assert not fell.passed and "sub3" in fell.reason


def test_regression_without_a_measurement_does_not_pass() -> None:
    assert not RegressionAuditor().review(case()).passed
    assert not RegressionAuditor().review(case(family_results={"a": (0, 0, 0)})).passed


def test_significance() -> None:
    plan = CLEAN.plan
    other = replace(plan, replay_share=0.5)
    clean = SignificanceAuditor().review(case(tried=[rejected(other)], head_plan=replace(plan, families=("add3",))))
    assert clean.passed and "1 earlier plans" in clean.reason
    again = SignificanceAuditor().review(case(head_plan=plan))
    assert again.passed, "the same plan on samples of a better head is the next step of self-training"
    known = replace(CLEAN, plan=replace(plan, source="known"))
    idle = SignificanceAuditor().review(replace(case(head_plan=known.plan), proposal=known))
    assert not idle.passed and "identical to the plan that made the head" in idle.reason
    for twin in (plan, replace(plan, seed_salt=9), _slower(plan, 0.98), replace(plan, replay_share=0.33)):
        again = SignificanceAuditor().review(case(tried=[rejected(other), rejected(twin)]))
        assert not again.passed, twin
    assert SignificanceAuditor().review(case(head_plan=_slower(plan, 0.8))).passed


def _slower(plan: TrainingPlan, factor: float) -> TrainingPlan:
    return replace(plan, settings=replace(plan.settings, learning_rate=plan.settings.learning_rate * factor))


def test_similarity_is_symmetric_and_one_for_the_same() -> None:
    plan, other = CLEAN.plan, replace(CLEAN.plan, families=("sub3_borrow",), replay_share=0.9)
    assert plan.similarity(plan) == 1.0
    assert plan.similarity(other) == other.similarity(plan) == 0.25
    assert plan.similarity(replace(plan, source="known")) == 0.0


def test_every_useless_idea_is_caught_once_one_was_tried() -> None:
    first = only(Useless().propose(briefing(MIXED, number=1))).plan
    for number in range(1, 9):
        proposal = only(Useless().propose(briefing(MIXED, number=number)))
        assert not SignificanceAuditor().review(case(proposal, tried=[rejected(first)])).passed


def test_rationale_of_the_curriculum_passes() -> None:
    review = RationaleAuditor().review(case())
    assert review.passed and "4 parts" in review.reason


@pytest.mark.parametrize(
    ("part", "text", "defect"),
    [
        ("what", "", "what is missing"),
        ("why", "   ", "why is missing"),
        ("expected_gain", "", "expected_gain is missing"),
        ("risks", "", "risks is missing"),
        ("risks", "none", "risks is too vague"),
        ("risks", "No known risks.", "risks is too vague"),
        ("expected_gain", "This should help and improve the performance of the system", "expected_gain is filler"),
        ("expected_gain", "The weak families will climb towards mastery soon", "expected_gain has no figure"),
        ("why", "Diagnosis: sub3_borrow, sub4_borrow, add3_carry, add4_carry are weak", "why has no figure"),
        ("what", "Train on verified samples of the weak ones; 500 steps.", None),
        (
            "what",
            "Train add3_carry; batches as before, 9000 steps of them.",
            "what speaks of 9000 steps, the plan of 500",
        ),
    ],
)
def test_rationale_catches(part: str, text: str, defect: str | None) -> None:
    proposal = replace(CLEAN, rationale=replace(CLEAN.rationale, **{part: text}))
    review = RationaleAuditor().review(case(proposal))
    assert review.passed is (defect is None)
    assert defect is None or defect in review.reason


def test_rationale_about_another_plan_is_caught() -> None:
    proposal = replace(CLEAN, plan=replace(CLEAN.plan, families=("add3", "add9")))
    review = RationaleAuditor().review(case(proposal))
    assert not review.passed and "not named: add9" in review.reason.replace("add3, ", "")


def test_rationale_wants_diff_and_whole_interventions() -> None:
    assert not RationaleAuditor().review(case(replace(CLEAN, diff=" \n"))).passed
    assert not RationaleAuditor().review(case(replace(CLEAN, interventions=()))).passed
    holed = (replace(CLEAN.interventions[0], risk=""), *CLEAN.interventions[1:])
    review = RationaleAuditor().review(case(replace(CLEAN, interventions=holed)))
    assert not review.passed and "intervention 1 lacks risk" in review.reason
