"""The operator that improves prompts without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloop.errors import InvalidRequest
from everloop.experience.base import Experience
from everloop.operators.auditors import PANEL, panel
from everloop.operators.base import Briefing, Case, FamilyResult, Proposal, Stage, Tried
from everloop.operators.plans import PromptPlan, TrainingPlan
from everloop.operators.prompt_ideas import IDEAS, NUMBER_ONLY, WHOLE_LINE
from everloop.operators.prompt_search import PromptSearch
from everloop.operators.similarity import near
from everloop.students.base import TrainSettings
from everloop.students.prompt import MOST_EXAMPLES, Example, Prompt, Reader
from everloop.students.prompt_base import base_prompt

COUNTS = {"easy": (3, 12), "plain": (1, 12), "carry": (2, 12)}
BASE = PromptPlan(base_prompt())
SEARCH = PromptSearch()


def failure(family: str, a: int, b: int, *, gold: str | None = None, sign: str = "+") -> Experience:
    right = str(a + b) if gold is None else gold
    return Experience(family, f"{a} {sign} {b}", "a task", "7", "the verifier calls the answer wrong", "note", right)


FAILURES = [failure(name, 10 * k + 11, 20 + place) for k, name in enumerate(COUNTS) for place in range(8)]


def briefing(
    counts: dict[str, tuple[int, int]] = COUNTS,
    failures: Sequence[Experience] = FAILURES,
    tried: Sequence[Tried] = (),
    directives: Sequence[str] = (),
    steers: Sequence[str] = (),
    head: PromptPlan | TrainingPlan | None = BASE,
    subject: str = "prompt",
) -> Briefing:
    return Briefing(
        run="r",
        brief="better sums",
        round=1,
        families={name: FamilyResult(*count) for name, count in counts.items()},
        failures=failures,
        tried=tried,
        defaults=TrainSettings(),
        max_rows_per_family=1000,
        directives=directives,
        steers=steers,
        head_plan=head,
        subject=subject,
    )


def only(proposals: Sequence[Proposal]) -> Proposal:
    assert len(proposals) == 1
    return proposals[0]


def prompt_of(proposal: Proposal) -> Prompt:
    assert isinstance(proposal.plan, PromptPlan)
    return proposal.plan.prompt


def exhaust(brief: Briefing) -> list[Proposal]:
    """Every proposal when each is rejected in turn."""
    found: list[Proposal] = []
    while len(found) <= len(IDEAS):
        tried = [Tried(one.plan, "rejected", "gate: screen estimate 0.0") for one in reversed(found)]
        proposals = SEARCH.propose(replace(brief, tried=[*tried, *brief.tried]))
        if not proposals:
            return found
        found.append(only(proposals))
    raise AssertionError("it never runs out of ideas")


def test_the_first_idea_shows_failures_with_the_task_repeated_weakest_family_first() -> None:
    prompt = prompt_of(only(SEARCH.propose(briefing())))
    assert prompt.examples == (
        Example("plain", "21 + 20", "21 + 20 = 41"),
        Example("carry", "31 + 20", "31 + 20 = 51"),
        Example("easy", "11 + 20", "11 + 20 = 31"),
        Example("plain", "21 + 21", "21 + 21 = 42"),
    )
    assert replace(prompt, examples=()) == base_prompt()


def test_a_head_with_examples_gets_the_instruction_and_keeps_them() -> None:
    first = only(SEARCH.propose(briefing())).plan
    assert isinstance(first, PromptPlan)
    second = prompt_of(only(SEARCH.propose(briefing(head=first))))
    assert (second.system, second.examples) == (WHOLE_LINE, first.prompt.examples)


def test_same_briefing_same_answer() -> None:
    assert SEARCH.propose(briefing()) == SEARCH.propose(briefing())


def test_a_task_that_ends_in_an_equals_sign_is_continued() -> None:
    lesson = replace(failure("easy", 1, 2), goal="1+2=")
    prompt = prompt_of(only(SEARCH.propose(briefing({"easy": (0, 4)}, [lesson] * 2 + [failure("easy", 3, 4)]))))
    assert [one.answer for one in prompt.examples] == ["1+2= 3", "3 + 4 = 7"]


@pytest.mark.parametrize("gold", ["", "the blue one"])
def test_examples_whose_right_answer_is_unknown_or_not_read_back_are_not_shown(gold: str) -> None:
    lessons = [failure("easy", n, n, gold=gold) for n in range(20)]
    for proposal in exhaust(briefing({"easy": (0, 20)}, lessons)):
        prompt = prompt_of(proposal)
        assert gold or not prompt.examples
        assert all(prompt.reader is Reader.AFTER_MARKER and one.answer == gold for one in prompt.examples)


def test_an_answer_that_was_shown_already_comes_last() -> None:
    lessons = [failure("easy", 1, 9), failure("easy", 2, 8), failure("easy", 3, 8), failure("easy", 4, 8)]
    prompt = prompt_of(only(SEARCH.propose(briefing({"easy": (0, 4)}, lessons))))
    assert [one.task for one in prompt.examples] == ["1 + 9", "3 + 8", "4 + 8", "2 + 8"]


def test_without_failures_only_the_words_change() -> None:
    found = exhaust(briefing(failures=()))
    assert [prompt_of(one) for one in found] == [Prompt(template=NUMBER_ONLY), Prompt(WHOLE_LINE, "What is {task}?")]


def test_no_idea_where_nothing_failed_or_nothing_was_measured() -> None:
    assert SEARCH.propose(briefing({"easy": (12, 12)})) == ()
    assert SEARCH.propose(briefing({"easy": (0, 0)})) == ()


def test_every_worked_example_is_read_back_as_its_right_answer() -> None:
    gold = {one.goal: one.gold for one in FAILURES}
    found = exhaust(briefing())
    assert len(found) >= 8
    for proposal in found:
        prompt = prompt_of(proposal)
        for one in prompt.examples:
            assert prompt.read(prompt.answer_template.replace("{answer}", one.answer)) == gold[one.task]


@pytest.mark.parametrize(
    "refused",
    [briefing(subject="training"), briefing(head=None), briefing(head=TrainingPlan((), 0, 0.0, TrainSettings()))],
)
def test_runs_that_train_are_refused(refused: Briefing) -> None:
    with pytest.raises(InvalidRequest, match="changes prompts only"):
        SEARCH.propose(refused)


@pytest.mark.parametrize("channel", ["directives", "steers"])
@pytest.mark.parametrize(
    ("words", "families"),
    [
        ("focus carry", {"carry"}),
        ("Focus: CARRY, easy", {"carry", "easy"}),
        ("avoid plain", {"carry", "easy"}),
        ("avoid plain; avoid easy", {"carry"}),
    ],
)
def test_follows_the_owner(words: str, families: set[str], channel: str) -> None:
    proposal = only(SEARCH.propose(briefing(**{channel: [words]})))  # type: ignore[arg-type]
    assert set(proposal.plan.families) == families == {one.family for one in prompt_of(proposal).examples}
    assert "instruction followed" in proposal.rationale.why


def test_words_about_training_and_unknown_words_are_told_and_change_nothing() -> None:
    proposal = only(SEARCH.propose(briefing(steers=["steps 300", "be bold"])))
    assert proposal.plan == only(SEARCH.propose(briefing())).plan
    assert "have no effect on a prompt: 'steps 300'" in proposal.rationale.why
    assert "not understood: 'be bold'" in proposal.rationale.why


def test_an_owner_who_avoids_everything_gets_no_candidate() -> None:
    assert SEARCH.propose(briefing(directives=["avoid easy, plain, carry"])) == ()


def test_explains_itself_with_the_figures_it_saw() -> None:
    tried = [Tried(PromptPlan(Prompt(system="x")), "rejected", "plain fell")]
    proposal = only(SEARCH.propose(briefing(tried=tried)))
    assert "plain 0.08 (1 of n=12)" in proposal.rationale.why
    assert "the last one was rejected: 'plain fell'" in proposal.rationale.why
    assert "(n=36)" in proposal.rationale.expected_gain and "0.167" in proposal.rationale.expected_gain
    assert "4 worked examples (2 of plain, 1 of carry, 1 of easy)" in proposal.rationale.what
    assert "+ examples: 21 + 20 21 + 20 = 41" in proposal.diff
    assert [one.target for one in proposal.interventions] == ["context"]


def test_words_are_interventions_on_the_prompt_and_examples_on_the_context() -> None:
    targets = {one.target for proposal in exhaust(briefing()) for one in proposal.interventions}
    assert targets == {"prompt", "context"}


FOUND = st.lists(st.builds(failure, st.sampled_from(list(COUNTS)), st.integers(1, 99), st.integers(1, 99)), max_size=40)
RATES = st.fixed_dictionaries({name: st.integers(0, 12).map(lambda right: (right, 12)) for name in COUNTS})
WORDS = st.lists(st.sampled_from(["focus easy", "avoid plain", "be nice", "rows 3"]), max_size=2)


@settings(max_examples=40, deadline=None)
@given(counts=RATES, failures=FOUND, words=WORDS, second=st.booleans())
def test_law_nothing_is_proposed_twice_and_all_of_it_passes_the_screens(
    counts: dict[str, tuple[int, int]], failures: list[Experience], words: list[str], second: bool
) -> None:
    brief = briefing(counts, failures, directives=words)
    if second and (first := SEARCH.propose(brief)):
        brief = replace(brief, head_plan=first[0].plan)
    found = exhaust(brief)
    for place, proposal in enumerate(found):
        earlier = [Tried(one.plan, "rejected", "x") for one in found[:place]]
        assert not any(near(proposal.plan, one.plan) for one in earlier)
        assert len(prompt_of(proposal).check().examples) <= MOST_EXAMPLES
        case = Case(proposal, earlier, brief.head_plan, families=brief.families)
        for auditor in panel(PANEL):
            if auditor.stage is Stage.SCREEN:
                review = auditor.review(case)
                assert review.passed, (auditor.kind, review.reason, proposal)
