"""The prompt of v0 in a dry run."""

from __future__ import annotations

from everloop.students.prompt import Prompt, Reader


def base_prompt() -> Prompt:
    """What a competent person would write first: the question and nothing else.

    It already reads the last number of a reply, so that a gain is not mere parsing.
    """
    return Prompt(template="What is {task}?", reader=Reader.LAST_NUMBER)
