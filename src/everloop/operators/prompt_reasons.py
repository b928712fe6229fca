"""How a prompt's change explains itself: Diff, Rationale and interventions, with the diagnosis' own figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from everloop.operators.base import Briefing, Intervention, Proposal, Rationale
from everloop.operators.explanation import diff, figure
from everloop.operators.instructions import Instructions
from everloop.operators.plans import PromptPlan
from everloop.operators.prompt_ideas import Idea
from everloop.operators.quoting import quoted
from everloop.students.prompt import Prompt

_TEXTS = ("system", "template", "answer_template", "layout", "reader", "marker")


def proposal(plan: PromptPlan, head: PromptPlan, briefing: Briefing, owner: Instructions, idea: Idea) -> Proposal:
    """The plan with its reasons; `idea` is the one it was made by."""
    return Proposal(
        plan,
        diff(plan, briefing),
        _rationale(plan, head, briefing, owner, idea),
        _interventions(plan.prompt, head.prompt, briefing, idea),
    )


def _rationale(plan: PromptPlan, head: PromptPlan, briefing: Briefing, owner: Instructions, idea: Idea) -> Rationale:
    changed = ", ".join(_changed(plan.prompt, head.prompt)) or "nothing else"
    what = f"{idea.step} Meant for {', '.join(plan.families)}; changed places: {changed}; {_shown(plan.prompt)}."
    why = f"Diagnosis: {'; '.join(figure(briefing, name) for name in plan.families)}."
    if briefing.tried:
        latest = briefing.tried[0]
        why += f" {len(briefing.tried)} prompt(s) against this head did not hold; "
        why += f"the last one was {latest.decision}: {quoted(latest.reason, 120)}."
    return Rationale(what, why + _acknowledged(owner), _gain(plan, briefing), _risks(plan.prompt, head.prompt))


def _acknowledged(owner: Instructions) -> str:
    """What became of the owner's words: only families can be chosen where nothing is trained."""
    told = ""
    for words in owner.followed:
        followed = words.lower().startswith(("focus", "avoid"))
        told += " Owner's instruction followed: " if followed else " Owner's words have no effect on a prompt: "
        told += f"{quoted(words, 120)}."
    for words in owner.noted:
        told += f" Owner's words noted and not understood: {quoted(words, 120)}."
    return told


def _gain(plan: PromptPlan, briefing: Briefing) -> str:
    rates = {name: result.rate for name, result in briefing.families.items() if result.rate is not None}
    n = sum(result.n for result in briefing.families.values())
    mended = {name: rate + (1 - rate) / 4 if name in plan.families else rate for name, rate in rates.items()}
    before, after = sum(rates.values()) / len(rates), sum(mended.values()) / len(mended)
    return f"If one failure in 4 is mended, the mean over families goes from {before:.3f} (n={n}) to {after:.3f}."


def _risks(prompt: Prompt, head: Prompt) -> str:
    longer = _length(prompt) - _length(head)
    size = f"{abs(longer)} characters {'longer' if longer >= 0 else 'shorter'} than the head's"
    return f"Tasks that are answered rightly now can fall; every request is {size}; answers of examples can be copied."


def _length(prompt: Prompt) -> int:
    return sum(len(text) for _, text in prompt.messages(""))


def _shown(prompt: Prompt) -> str:
    counts = Counter(one.family for one in prompt.examples)
    told = ", ".join(f"{count} of {family}" for family, count in counts.items())
    return f"{len(prompt.examples)} worked examples{f' ({told})' if told else ''}"


def _changed(prompt: Prompt, head: Prompt) -> Mapping[str, tuple[object, object]]:
    """Place -> (before, after) of every place that differs."""
    pairs = {place: (getattr(head, place), getattr(prompt, place)) for place in (*_TEXTS, "examples")}
    return {place: pair for place, pair in pairs.items() if pair[0] != pair[1]}


def _interventions(prompt: Prompt, head: Prompt, briefing: Briefing, idea: Idea) -> tuple[Intervention, ...]:
    found = []
    worst = min(briefing.families, key=lambda name: (briefing.families[name].rate or 0.0, name))
    seen = f"the weakest family is {figure(briefing, worst)}"
    for place, (before, after) in _changed(prompt, head).items():
        if place == "examples":
            what = f"{len(head.examples)} worked examples -> {_shown(prompt)}"
            risk = "what an example shows can be copied into other answers"
            found.append(Intervention("context", what, seen, idea.step, risk))
        else:
            what = f"{place}: {quoted(before)} -> {quoted(after)}"
            risk = "a form that suits one family can confuse another"
            found.append(Intervention("prompt", what, seen, idea.step, risk))
    return tuple(found)
