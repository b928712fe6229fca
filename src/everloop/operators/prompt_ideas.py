"""Ways to change a prompt without a language model, in the order in which they helped a small model when measured.

An idea is made from the head's prompt and from failures whose right answer is known. It is dropped where the prompt's
own reader would not read the right answers out of the worked examples: a student that copies them would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from everloop.errors import InvalidRequest
from everloop.experience.base import Experience
from everloop.students.prompt import Example, Layout, Prompt, Reader

WHOLE_LINE = "Write the task and its result, like 2 + 3 = 5."
"""System text: answer with the whole equation."""
NUMBER_ONLY = "What is {task}? Reply with the number only."
"""User's message that asks for nothing but the number."""
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Idea:
    """One change of a prompt. What is None stays as the head has it."""

    step: str
    """The idea in words."""
    examples: int | None = None
    """Worked examples that replace the head's; 0: none."""
    restated: bool = False
    """Whether their answers repeat the task first, as in ``47 + 38 = 85``."""
    skip: int = 0
    """Failures left out before the examples are taken."""
    system: str | None = None
    """System text."""
    template: str | None = None
    """User's message."""
    layout: Layout | None = None
    """How examples are shown."""
    answer_template: str | None = None
    """How answers of examples are written; read after the prompt's marker where it holds that."""
    numeric: bool = False
    """Only where answers are numbers."""
    on_examples: bool | None = None
    """Only for a head with worked examples (True) or without (False); None: for any."""


IDEAS = (
    Idea("Show worked examples that repeat the task before its answer.", examples=4, restated=True, on_examples=False),
    Idea(
        "Tell it to write the task before its answer, and keep the worked examples.",
        system=WHOLE_LINE,
        numeric=True,
        on_examples=True,
    ),
    Idea(
        "Tell it to write the task before its answer, and show worked examples of that.",
        examples=4,
        restated=True,
        system=WHOLE_LINE,
        numeric=True,
    ),
    Idea("Show twice as many worked examples, each repeating its task.", examples=8, restated=True),
    Idea("Show other failures as worked examples, each repeating its task.", examples=4, restated=True, skip=4),
    Idea("Ask with the bare task, and show examples that repeat it.", examples=4, restated=True, template="{task}"),
    Idea("Show other failures, eight of them, each repeating its task.", examples=8, restated=True, skip=8),
    Idea("Show as many worked examples as fit, each repeating its task.", examples=16, restated=True),
    Idea("Ask for the number only.", examples=0, template=NUMBER_ONLY, numeric=True),
    Idea("Mark the answer in worked examples.", examples=4, answer_template="ANSWER: {answer}"),
    Idea("Show the examples above the task.", examples=4, restated=True, layout=Layout.INLINE),
    Idea("Tell it to write the task before its answer, without examples.", examples=0, system=WHOLE_LINE, numeric=True),
    Idea("Show worked examples with the bare answer.", examples=4),
)
"""Best first; see docs/prompt-search.md for the figures."""


def prompts(head: Prompt, failures: Sequence[Experience]) -> Iterator[tuple[Idea, Prompt]]:
    """Every idea that can be made, with its prompt; `failures`: those with a known answer, as they are to be used."""
    numbers = head.reader is Reader.LAST_NUMBER and all(one.gold.isdecimal() for one in failures)
    for idea in IDEAS:
        fits = idea.on_examples in {None, bool(head.examples)} and (numbers or not idea.numeric)
        made = _made(idea, head, failures) if fits else None
        if made is not None:
            yield idea, made


def _made(idea: Idea, head: Prompt, failures: Sequence[Experience]) -> Prompt | None:
    examples = head.examples
    if idea.examples is not None:
        chosen = failures[idea.skip : idea.skip + idea.examples]
        if len(chosen) < idea.examples // 2 or (idea.examples and not chosen):
            return None
        examples = tuple(Example(one.family, one.goal, _answer(one, idea.restated)) for one in chosen)
        if any(not _readable(idea, head, one, example) for one, example in zip(chosen, examples, strict=True)):
            return None
    try:
        return replace(_around(idea, head), examples=examples).check()
    except InvalidRequest:  # an example or a text that is too long makes no prompt, and so no idea
        return None


def _readable(idea: Idea, head: Prompt, failure: Experience, example: Example) -> bool:
    """Whether the prompt's reader finds the right answer in a worked example."""
    prompt = _around(idea, head)
    if idea.restated and (len(failure.goal) > _LONGEST or "\n" in failure.goal):
        return False
    return prompt.read(prompt.answer_template.replace("{answer}", example.answer)) == failure.gold


def _around(idea: Idea, head: Prompt) -> Prompt:
    """The prompt without its examples."""
    changed = replace(
        head,
        system=head.system if idea.system is None else idea.system,
        template=head.template if idea.template is None else idea.template,
        layout=head.layout if idea.layout is None else idea.layout,
        examples=(),
    )
    if idea.answer_template is None:
        return changed
    reader = Reader.AFTER_MARKER if changed.marker in idea.answer_template else changed.reader
    return replace(changed, answer_template=idea.answer_template, reader=reader)


def _answer(failure: Experience, restated: bool) -> str:
    if not restated:
        return failure.gold
    task = failure.goal.rstrip()
    return f"{task} {failure.gold}" if task.endswith("=") else f"{task} = {failure.gold}"
