"""Operators of prompts as a third party would ship them: fixed prompts, and ones that must be refused."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from everloop.operators.base import Briefing, Intervention, Proposal, Rationale
from everloop.operators.explanation import diff
from everloop.operators.plans import PromptPlan, TrainingPlan
from everloop.students.base import TrainSettings
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
    subjects = ("prompt",)
    asks = False

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        prompt = Prompt(system=SYSTEMS[(briefing.round - 1) % len(SYSTEMS)], template="What is {task}?")
        return (proposed(briefing, prompt),)


class Odd(Prompter):
    """Proposes what a file ``ODD`` in the home folder says, so that one operator serves many tests."""

    name = "odd"

    def propose(self, briefing: Briefing) -> Sequence[Proposal]:
        told = json.loads((Path(os.environ["EVERLOOP_HOME"]) / "ODD").read_text())
        if "training" in told:
            plan = TrainingPlan(tuple(briefing.families), 10, 0.3, TrainSettings())
            return (replace(proposed(briefing, Prompt(template="{task}!")), plan=plan),)
        prompt = Prompt(**{"system": "quality=0.95", "template": "What is {task}?"} | told.get("prompt", {}))
        shown = [one for one in briefing.failures if one.gold][: told.get("failures", 0)]
        examples = tuple(Example(one.family, one.goal, told.get("answer", one.gold)) for one in shown)
        examples += tuple(Example(*one) for one in told.get("examples", ()))
        found = proposed(briefing, replace(prompt, examples=examples), *told.get("targets", ["prompt", "context"]))
        return (found,)


def proposed(briefing: Briefing, prompt: Prompt, *targets: str) -> Proposal:
    families = tuple(briefing.families)
    plan = PromptPlan(prompt, families)
    told = ", ".join(f"{name} {result.right} of n={result.n}" for name, result in briefing.families.items())
    rationale = Rationale(
        f"Write the system text {prompt.system!r} above each task.",
        f"Diagnosis of this round: {told}.",
        f"The mean over {len(families)} families should rise by at least 0.05.",
        "Answers could become longer than the reader expects in s1.",
    )
    changes = tuple(
        Intervention(target, "system text", f"diagnosis: {told}", "more right answers", "longer answers")
        for target in targets or ("prompt",)
    )
    return Proposal(plan, diff(plan, briefing), rationale, changes)
