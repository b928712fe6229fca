"""An operator for prompts that is no language model: the same answer to the same briefing, and nothing to pay.

It varies the head's prompt by a fixed list of ideas (`prompt_ideas.IDEAS`) and shows failures of the diagnosis with
their right answers as worked examples. What was rejected against the present head, or its near-duplicate, is never
proposed again; when the ideas run out it proposes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from everloop.errors import InvalidRequest
from everloop.experience.base import Experience
from everloop.operators.base import Briefing, Proposal
from everloop.operators.instructions import Instructions
from everloop.operators.plans import PromptPlan
from everloop.operators.prompt_ideas import Idea, prompts
from everloop.operators.prompt_reasons import proposal
from everloop.operators.similarity import near


class PromptSearch:
    """Tries ideas in order on the head's prompt, with worked examples chosen from its failures."""

    name = "prompt-search"
    """Name used in a start request."""
    subjects = ("prompt",)
    """Dry runs."""
    asks = False
    """Needs no language model."""

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        """The first idea that was not rejected before, as the only candidate; empty when there is none."""
        head = briefing.head_plan
        if briefing.subject != "prompt" or not isinstance(head, PromptPlan):
            why = f"this run's candidates are plans for {briefing.subject}"
            raise InvalidRequest("operator prompt-search changes prompts only", why=why, then="Use it in a dry run")
        owner = Instructions.read([*briefing.directives, *briefing.steers], briefing.families)
        known = [head, *(tried.plan for tried in briefing.tried)]
        for idea, plan in plans(briefing, head, owner):
            if not any(near(plan, other) for other in known):
                return (proposal(plan, head, briefing, owner, idea),)
        return ()


def plans(briefing: Briefing, head: PromptPlan, owner: Instructions) -> Iterator[tuple[Idea, PromptPlan]]:
    """Every idea that can be made, best first; finite."""
    families = _helped(briefing, owner)
    if not families:
        return
    for idea, prompt in prompts(head.prompt, _turns(briefing.failures, families)):
        yield idea, PromptPlan(prompt, families)


def _helped(briefing: Briefing, owner: Instructions) -> tuple[str, ...]:
    """Families it is meant to help, weakest first: the owner's, else those with a failure that are not avoided."""
    rates = {name: result.rate for name, result in briefing.families.items() if result.rate is not None}
    weakest = sorted(rates, key=lambda name: (rates[name], name))
    if owner.focus:
        return tuple(name for name in weakest if name in owner.focus)
    return tuple(name for name in weakest if rates[name] < 1.0 and name not in owner.avoid)


def _turns(failures: Sequence[Experience], families: Sequence[str]) -> list[Experience]:
    """Failures of the families, which take turns; the first of each task, only those with a known answer.

    Those with an answer that an earlier one has come last: a small model repeats what it sees twice.
    """
    first: dict[str, Experience] = {}
    for one in failures:
        if one.gold:
            first.setdefault(one.goal, one)
    by_family = [[one for one in first.values() if one.family == name] for name in families]
    turns = [one for turn in zip_longest(*by_family) for one in turn if one is not None]
    shown = {one.gold: one.goal for one in reversed(turns)}  # answer -> the first task that has it
    return sorted(turns, key=lambda one: shown[one.gold] != one.goal)
