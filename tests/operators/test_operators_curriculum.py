from __future__ import annotations

from dataclasses import replace

import pytest
from briefings import DEFAULTS, MIXED, WEAK, briefing, only, rejected
from hypothesis import given, settings
from hypothesis import strategies as st

from everloop.errors import InvalidRequest
from everloop.operators.auditors import PANEL, panel
from everloop.operators.base import Briefing, Case, Operator, Stage
from everloop.operators.curriculum import ALTERNATIVES, Curriculum
from everloop.operators.no_replay import NoReplay
from everloop.operators.plans import TrainingPlan
from everloop.operators.registry import operator
from everloop.operators.similarity import near
from everloop.operators.useless import Useless


def exhaust(actor: Operator, brief: Briefing, most: int = 200) -> list[TrainingPlan]:
    """Every plan it proposes when each is rejected in turn."""
    plans: list[TrainingPlan] = []
    while len(plans) < most:
        proposals = actor.propose(replace(brief, tried=[rejected(plan) for plan in reversed(plans)]))
        if not proposals:
            return plans
        plans.append(only(proposals).plan)
    raise AssertionError("it never runs out of ideas")


def test_trains_all_weak_families_nearest_to_mastery_first_with_replay() -> None:
    plan = only(Curriculum().propose(briefing(MIXED))).plan
    assert plan == TrainingPlan(WEAK, 1000, 0.3, DEFAULTS)


def test_same_briefing_same_answer() -> None:
    assert Curriculum().propose(briefing(MIXED)) == Curriculum().propose(briefing(MIXED))


def test_mastered_families_are_polished_weakest_first() -> None:
    plan = only(Curriculum().propose(briefing({"a": (64, 64), "b": (63, 64), "c": (62, 64)}))).plan
    assert plan.families == ("c", "b")


def test_no_idea_where_nothing_failed_or_nothing_was_measured() -> None:
    assert Curriculum().propose(briefing({"a": (64, 64), "b": (64, 64)})) == ()
    assert Curriculum().propose(briefing({"a": (0, 0)})) == ()


def test_a_family_that_was_not_measured_is_not_trained() -> None:
    assert only(Curriculum().propose(briefing({"a": (0, 0), "b": (1, 2)}))).plan.families == ("b",)


def test_alternatives_come_in_the_documented_order() -> None:
    plans = exhaust(Curriculum(), briefing(MIXED))
    shapes = [(p.replay_share, p.settings.learning_rate, p.settings.steps) for p in plans[: len(ALTERNATIVES)]]
    assert shapes[:4] == [(0.3, 2e-3, 500), (0.5, 2e-3, 500), (0.3, 1e-3, 500), (0.3, 2e-3, 1000)]
    assert all(plan.families == WEAK for plan in plans[: len(ALTERNATIVES)])
    sets = list(dict.fromkeys(plan.families for plan in plans))
    assert sets == [WEAK, WEAK[:2], WEAK[:1], WEAK[2:]]
    assert all(plan.replay_share >= (0.5 if len(plan.families) < 3 else 0.3) for plan in plans)


def test_the_plan_of_the_head_is_not_repeated() -> None:
    first = only(Curriculum().propose(briefing(MIXED))).plan
    second = only(Curriculum().propose(briefing(MIXED, head_plan=first)))
    assert second.plan.replay_share == 0.5
    assert "--- plan of the head" in second.diff and "+ replay_share: 0.5" in second.diff


COUNTS = st.dictionaries(
    st.sampled_from(["add3", "add4", "sub3", "sub4", "mul"]),
    st.integers(1, 64).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
)
WORDS = st.lists(
    st.sampled_from(["focus add3", "avoid sub3", "steps 300", "replay 0.6", "be nice", "lr 0.001"]), max_size=3
)


@settings(max_examples=60, deadline=None)
@given(counts=COUNTS, words=WORDS, repeat_head=st.booleans())
def test_law_no_rejected_plan_or_near_duplicate_is_ever_proposed_again(
    counts: dict[str, tuple[int, int]], words: list[str], repeat_head: bool
) -> None:
    brief = briefing(counts, directives=words)
    if repeat_head and (first := Curriculum().propose(brief)):
        brief = replace(brief, head_plan=only(first).plan)
    plans = exhaust(Curriculum(), brief)
    assert len({plan.fingerprint() for plan in plans}) == len(plans)
    for place, plan in enumerate(plans):
        assert not any(near(plan, other) for other in plans[:place])
        assert brief.head_plan is None or not near(plan, brief.head_plan)
        assert 0 < plan.replay_share < 1 and plan.families


@settings(max_examples=60, deadline=None)
@given(counts=COUNTS, words=WORDS, done=st.integers(0, 8))
def test_law_what_it_proposes_passes_the_screens(
    counts: dict[str, tuple[int, int]], words: list[str], done: int
) -> None:
    brief = briefing(counts, steers=words)
    tried = [rejected(plan) for plan in exhaust(Curriculum(), brief)[:done]]
    for proposal in Curriculum().propose(replace(brief, tried=tried)):
        case = Case(proposal, tried, None)
        for auditor in panel(PANEL):
            if auditor.stage is Stage.SCREEN:
                review = auditor.review(case)
                assert review.passed, (auditor.kind, review.reason, proposal)


def test_explains_itself_with_the_figures_it_saw() -> None:
    proposal = only(Curriculum().propose(briefing(MIXED, tried=[])))
    assert "add4_carry 0.45 (29 of n=64)" in proposal.rationale.why
    assert "(n=384)" in proposal.rationale.expected_gain
    mean = sum(right / n for right, n in MIXED.values()) / 6
    assert f"{mean:.3f}" in proposal.rationale.expected_gain
    assert "add3" in proposal.rationale.risks and "30%" in proposal.rationale.risks
    assert "+ families: sub3_borrow, sub4_borrow, add3_carry, add4_carry" in proposal.diff
    assert [one.target for one in proposal.interventions] == ["data"] * 5


def test_tells_why_it_tries_something_else() -> None:
    first = only(Curriculum().propose(briefing(MIXED))).plan
    second = only(Curriculum().propose(briefing(MIXED, tried=[rejected(first)])))
    assert 'the last one was rejected: "regression: sub3 fell by 0.08"' in second.rationale.why


@pytest.mark.parametrize(
    ("words", "check"),
    [
        ("focus add4_carry", lambda plan: plan.families == ("add4_carry",)),
        ("Focus ADD4_CARRY, add3", lambda plan: plan.families == ("add3", "add4_carry")),
        ("avoid add4_carry", lambda plan: plan.families == WEAK[:3]),
        ("steps 321", lambda plan: plan.settings.steps == 321),
        ("rows 200", lambda plan: plan.rows_per_family == 200),
        ("rows 5000", lambda plan: plan.rows_per_family == 1000),
        ("replay 0.6", lambda plan: plan.replay_share == 0.6),
        ("lr: 0.0005", lambda plan: plan.settings.learning_rate == 0.0005),
        ("steps 321; replay=0.6", lambda plan: (plan.settings.steps, plan.replay_share) == (321, 0.6)),
    ],
)
@pytest.mark.parametrize("channel", ["directives", "steers"])
def test_follows_the_owner(words: str, check: object, channel: str) -> None:
    assert callable(check)
    proposal = only(Curriculum().propose(briefing(MIXED, **{channel: [words]})))  # type: ignore[arg-type]
    assert check(proposal.plan)
    assert "instruction followed" in proposal.rationale.why


@pytest.mark.parametrize(
    "words",
    [
        "be bold",
        "focus mul9",
        "steps many",
        "steps 0",
        "steps -5",
        "replay 0",
        "replay 7",
        "replay nan",
        "rows 1e3",
        "lr inf",
    ],
)
def test_what_it_does_not_understand_is_noted_and_changes_nothing(words: str) -> None:
    proposal = only(Curriculum().propose(briefing(MIXED, steers=[words])))
    assert proposal.plan == only(Curriculum().propose(briefing(MIXED))).plan
    assert f'noted and not understood: "{words}"' in proposal.rationale.why


def test_a_steer_counts_more_than_a_directive_and_later_more_than_earlier() -> None:
    proposal = only(Curriculum().propose(briefing(MIXED, directives=["steps 100"], steers=["steps 200", "steps 300"])))
    assert proposal.plan.settings.steps == 300
    avoided = only(Curriculum().propose(briefing(MIXED, directives=["avoid add4_carry"], steers=["focus add4_carry"])))
    assert avoided.plan.families == ("add4_carry",)


def test_an_owner_who_avoids_everything_gets_no_candidate() -> None:
    assert Curriculum().propose(briefing({"a": (1, 2)}, directives=["avoid a"])) == ()


def test_no_replay_adds_only_and_replays_nothing() -> None:
    plans = exhaust(NoReplay(), briefing(MIXED))
    assert plans[0].families == ("add3", "add3_carry", "add4_carry")
    assert all(plan.replay_share == 0 and all(name.startswith("add") for name in plan.families) for plan in plans)
    assert len({plan.fingerprint() for plan in plans}) == len(plans) > 4


def test_no_replay_passes_the_screens_so_that_only_the_floor_stops_it() -> None:
    proposal = only(NoReplay().propose(briefing(MIXED)))
    screens = [auditor for auditor in panel(PANEL) if auditor.stage is Stage.SCREEN]
    assert all(auditor.review(Case(proposal, (), None)).passed for auditor in screens)
    assert "without replay (0%)" in proposal.rationale.risks


def test_useless_cycles_through_four_ideas_with_nothing_new() -> None:
    plans = [only(Useless().propose(briefing(MIXED, number=number))).plan for number in range(1, 9)]
    assert all(plan.source == "known" for plan in plans)
    assert len({plan.fingerprint() for plan in plans[:4]}) == 4
    assert plans[0] == plans[4] and plans[1] != plans[5]
    assert all(near(plans[0], replace(plan, seed_salt=0)) for plan in plans)


def test_registry_finds_and_refuses() -> None:
    assert isinstance(operator("curriculum"), Curriculum)
    with pytest.raises(InvalidRequest, match=r"unknown operator 'oracle': known: .*curriculum"):
        operator("oracle")
