"""When two prompts are the same idea, and what it costs to find out."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from briefings import MIXED, briefing, only, rejected
from hypothesis import given
from hypothesis import strategies as st

from everloop.operators.base import Case, Plan, Proposal
from everloop.operators.curriculum import Curriculum
from everloop.operators.plans import PromptPlan
from everloop.operators.significance import SignificanceAuditor
from everloop.operators.similarity import NEAR, near
from everloop.students.prompt import Prompt

PROPOSAL = only(Curriculum().propose(briefing(MIXED)))
TWENTY = "Read the task with care, add numbers column by column, write the carry down and give only the last number."


def plan(system: str) -> PromptPlan:
    return PromptPlan(Prompt(system=system))


def alike(one: str, other: str) -> float:
    return plan(one).similarity(plan(other))


def proposing(made: Plan) -> Proposal:
    return replace(PROPOSAL, plan=made)


def test_one_word_of_twenty_makes_no_other_idea() -> None:
    words = TWENTY.split()
    assert len(words) == 20
    for place in range(20):
        swapped = " ".join([*words[:place], "other", *words[place + 1 :]])
        assert 0.9 <= alike(TWENTY, swapped) < 1.0


def test_a_word_of_ten_that_only_looks_different_makes_no_other_idea() -> None:
    one = "Answer with the number that belongs to the task. quality=0.95"
    assert near(plan(one), plan(one.replace("task.", "task!")))
    assert not near(plan(one), plan("quality=0.05: say whatever comes to mind first, quickly, in a word or two."))


def test_unrelated_texts_are_far_apart_and_so_is_a_text_from_none() -> None:
    assert (
        alike(TWENTY, "You are a pirate. Answer in rhymes, always, and never mention what was asked of you before.")
        < 0.5
    )
    assert alike(TWENTY, "") == 0.0


def test_the_same_words_in_another_order_are_not_the_same_text() -> None:
    words = TWENTY.split()
    assert alike(TWENTY, " ".join(reversed(words))) < 0.5
    assert alike(TWENTY, " ".join(words[10:] + words[:10])) < NEAR


TEXTS = st.lists(st.sampled_from("abc"), max_size=40).map(" ".join)


@given(TEXTS, TEXTS)
def test_law_similarity_is_symmetric_one_for_the_same_and_between_0_and_1(one: str, other: str) -> None:
    assert alike(one, other) == alike(other, one)
    assert 0.0 <= alike(one, other) <= 1.0
    assert alike(one, one) == 1.0


@given(TEXTS, TEXTS)
def test_law_it_is_the_longest_common_subsequence_where_that_counts(one: str, other: str) -> None:
    first, second = one.split(), other.split()
    exact = 2 * _subsequence(first, second) / (len(first) + len(second)) if first or second else 1.0
    assert alike(one, other) == exact or exact <= alike(one, other) < 0.75


def _subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for word in first:
        before = row
        row = [0]
        for place, other in enumerate(second):
            row.append(before[place] + 1 if word == other else max(row[place], before[place + 1]))
    return row[-1]


def test_the_worst_texts_are_compared_with_two_hundred_plans_within_a_second() -> None:
    """Four places of 1,990 words over two words: nothing can be told from how often they occur."""
    chance = random.Random(1)

    def text() -> str:
        return " ".join(chance.choice("ab") for _ in range(1_990))

    def worst() -> PromptPlan:
        return PromptPlan(Prompt(text(), f"{text()} {{task}}", f"{text()} {{answer}}", marker=text()))

    case = Case(proposing(worst()), [rejected(worst()) for _ in range(200)], None)  # type: ignore[arg-type]
    began = time.process_time()
    review = SignificanceAuditor().review(case)
    assert time.process_time() - began < 1.0
    assert review.passed and "200 earlier plans; the closest has similarity 0.8" in review.reason


@pytest.mark.parametrize("last", ["another text altogether", TWENTY.replace("care", "love")])
def test_each_pair_is_compared_once(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[PromptPlan] = []
    similarity = PromptPlan.similarity

    def counted(self: PromptPlan, other: Plan) -> float:
        assert isinstance(other, PromptPlan)
        compared.append(other)
        return similarity(self, other)

    monkeypatch.setattr(PromptPlan, "similarity", counted)
    tried = [rejected(plan(text)) for text in ("one thing", "two things", last)]  # type: ignore[arg-type]
    review = SignificanceAuditor().review(Case(proposing(plan(TWENTY)), tried, None))
    assert review.passed is (last == "another text altogether")
    assert compared == [one.plan for one in tried]


def test_it_is_a_rule() -> None:
    assert SignificanceAuditor.asks is False
