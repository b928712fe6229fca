"""Prompts: places, templates, layouts, readers, JSON."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.errors import InvalidRequest
from everloop.students.prompt import LONGEST, MOST_EXAMPLES, PLACES, Example, Layout, Prompt, Reader
from everloop.students.prompt_base import base_prompt

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0{}"), max_size=30)
EXAMPLES = st.lists(st.builds(Example, WORDS, WORDS, WORDS), max_size=4).map(tuple)
PROMPTS = st.builds(
    Prompt,
    system=WORDS,
    template=st.tuples(WORDS, WORDS).map("{task}".join),
    answer_template=st.tuples(WORDS, WORDS).map("{answer}".join),
    examples=EXAMPLES,
    layout=st.sampled_from(Layout),
    reader=st.sampled_from(Reader),
    marker=WORDS.filter(str.strip),
)
SHOWN = Prompt("Be brief.", "What is {task}?", "= {answer}", (Example("f", "1 + 2", "3"),))


@given(PROMPTS)
def test_json_and_back_is_the_same_prompt(prompt: Prompt) -> None:
    again = Prompt.from_json(prompt.to_json())
    assert again == prompt and again.sha256 == prompt.sha256
    assert set(prompt.to_json()) == set(PLACES)


@given(PROMPTS, WORDS)
def test_the_task_stands_in_the_last_message_and_the_user_asks_it(prompt: Prompt, task: str) -> None:
    role, text = prompt.messages(task)[-1]
    assert role == "user" and text.endswith(prompt.template.replace("{task}", task))


def test_examples_are_turns_or_stand_above_the_task() -> None:
    system, asked = ("system", "Be brief."), "What is 1 + 2?"
    assert SHOWN.messages("4 + 5") == [system, ("user", asked), ("assistant", "= 3"), ("user", "What is 4 + 5?")]
    inline = replace(SHOWN, layout=Layout.INLINE).messages("4 + 5")
    assert inline == [system, ("user", f"{asked}\n= 3\n\nWhat is 4 + 5?")]


def test_a_task_that_holds_a_hole_is_text() -> None:
    assert Prompt(template="<{task}>").messages("{task} {answer}") == [("user", "<{task} {answer}>")]


@pytest.mark.parametrize(
    ("reader", "reply", "answer"),
    [
        (Reader.WHOLE, " 85\n", "85"),
        (Reader.LAST_NUMBER, "47 + 38 = 85.", "85"),
        (Reader.LAST_NUMBER, "It is 1,234,567", "1234567"),
        (Reader.LAST_NUMBER, "no idea", ""),
        (Reader.AFTER_MARKER, "ANSWER: 1\nANSWER: 85.\nbye", "85"),
        (Reader.AFTER_MARKER, "ANSWER:", ""),
        (Reader.AFTER_MARKER, "85", ""),
    ],
)
def test_readers(reader: Reader, reply: str, answer: str) -> None:
    assert Prompt(reader=reader).read(reply) == answer


@given(PROMPTS, st.text(max_size=60))
def test_every_reply_can_be_read(prompt: Prompt, reply: str) -> None:
    assert isinstance(prompt.read(reply), str)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_last_number_is_read_whatever_stands_before_it(one: int, other: int) -> None:
    assert Prompt().read(f"{one} and so {other}.") == str(other)


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"verifier": "none"}, "prompt.verifier may not be changed"),
        ({"template": "no hole"}, "prompt.template"),
        ({"template": "{task}{task}"}, "prompt.template"),
        ({"answer_template": ""}, "prompt.answer_template"),
        ({"system": "x" * (LONGEST + 1)}, "prompt.system is too long"),
        ({"system": "\0"}, "prompt.system is no text"),
        ({"system": "\ud800"}, "prompt.system is no text"),
        ({"system": 3}, "must be text"),
        ({"marker": " "}, "prompt.marker is empty"),
        ({"layout": "sideways"}, "prompt.layout"),
        ({"reader": "mind"}, "prompt.reader"),
        ({"examples": "1"}, "prompt.examples must be a list"),
        ({"examples": [{"task": "1"}]}, "an example has"),
        ({"examples": [{"family": "f", "task": 1, "answer": "2"}]}, "must be text"),
        ({"examples": [{"family": "f", "task": "1", "answer": "2"}] * (MOST_EXAMPLES + 1)}, "prompt.examples has"),
        ([], "must be an object"),
    ],
)
def test_what_a_prompt_may_not_hold_is_refused_by_name(document: object, named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        Prompt.from_json(document)  # type: ignore[arg-type]


def test_the_base_prompt_is_plain_and_already_reads_numbers() -> None:
    base = base_prompt().check()
    assert (base.system, base.examples, base.reader) == ("", (), Reader.LAST_NUMBER)
    assert base.messages("4 + 3") == [("user", "What is 4 + 3?")]
