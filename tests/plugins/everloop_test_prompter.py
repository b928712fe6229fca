"""Operators of prompts as a third party would ship them: fixed prompts, and ones that must be refused."""

from __future__ import annotations

from collections.abc import Sequence

from everloop.operators.base import Briefing, Intervention, Proposal, Rationale
from everloop.operators.explanation import diff
from everloop.operators.plans import PromptPlan
from everloop.students.prompt import Example, Prompt

SYSTEMS = (
    "Answer with the number that belongs to the task. quality=0.95",
    "quality=0.05: say whatever comes to mind first, quickly, in a word or two.",
    "Answer with the number that belongs to the task! quality=0.95",
)
"""What round 1, 2, 3 proposes; the scripted student answers rightly as often as the system text says."""


class Prompter:
    """Proposes a prompt that helps, one that harms, one that changes next to nothing."""

    name = "prompter"

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        prompt = Prompt(system=SYSTEMS[(briefing.round - 1) % len(SYSTEMS)], template="What is {task}?")
        return (proposed(briefing, prompt),)


class Leaky(Prompter):
    """Puts tasks of its own into the prompt, whatever set they belong to."""

    name = "leaky"

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        examples = tuple(Example("s1", f"s1:{place}", "000000") for place in range(12))
        return (proposed(briefing, Prompt(system="quality=0.95", template="What is {task}?", examples=examples)),)


def proposed(briefing: Briefing, prompt: Prompt, target: str = "prompt") -> Proposal:
    families = tuple(briefing.families)
    plan = PromptPlan(prompt, families)
    told = ", ".join(f"{name} {result.right} of n={result.n}" for name, result in briefing.families.items())
    rationale = Rationale(
        f"Write the system text {prompt.system!r} above each task.",
        f"Diagnosis of this round: {told}.",
        f"The mean over {len(families)} families should rise by at least 0.05.",
        "Answers could become longer than the reader expects in s1.",
    )
    change = Intervention(target, "system text", f"diagnosis: {told}", "more right answers", "longer answers")
    return Proposal(plan, diff(plan, briefing), rationale, (change,))
