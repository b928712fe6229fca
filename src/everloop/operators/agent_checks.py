"""What is wrong with a candidate of the operator's model, and the proposal that it makes all the same.

Nothing is repaired in silence. A candidate that stays wrong becomes a proposal whose interventions name what it asked
for, so that the loop's allow-list refuses it and the reason is on record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from everloop.errors import InvalidRequest
from everloop.operators.agent_output import Candidate, Change, PromptCandidate, TrainingCandidate
from everloop.operators.base import Briefing, Case, Intervention, Plan, Proposal, Rationale
from everloop.operators.explanation import diff
from everloop.operators.figures import FiguresAuditor
from everloop.operators.instructions import MOST_STEPS
from everloop.operators.plans import PromptPlan, TrainingPlan
from everloop.operators.quoting import clean, clip, hidden, named, quoted
from everloop.operators.rationale import RationaleAuditor
from everloop.operators.significance import SignificanceAuditor
from everloop.students.base import TrainSettings
from everloop.students.prompt import PLACES, Prompt

TARGETS = {"training": ("data", "settings"), "prompt": ("prompt", "context")}
"""What an intervention may target, by subject: the allow-list that the loop enforces."""
MOST_BATCH = 4_096
"""Largest batch of a plan."""
LONGEST_TEXT = 2_000
"""Most bytes of one text of a rationale or an intervention."""
MOST_INTERVENTIONS = 16
"""Most interventions of a candidate."""
_MOST_FAMILIES = 256
_RULES = (RationaleAuditor(), FiguresAuditor(), SignificanceAuditor())


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a candidate must not ask for."""

    target: str
    """What it asks for, as an intervention's target; empty where the loop refuses it by itself."""
    why: str
    """Why not, and what would do."""


def judged(candidate: Candidate, briefing: Briefing) -> tuple[Proposal, list[Problem]]:
    """The proposal of a candidate, and everything that is wrong with it."""
    problems = [
        *_extras(candidate),
        *_families(candidate, briefing),
        *_texts(candidate),
        *_targets(candidate, briefing),
    ]
    if isinstance(candidate, TrainingCandidate):
        plan: Plan = _training(candidate)
        problems += _ranges(candidate, briefing)
    else:
        assert isinstance(candidate, PromptCandidate)
        plan, found = _prompt(candidate, briefing)
        problems += found
    proposal = _proposal(candidate, plan, briefing, [one for one in problems if one.target])
    if not problems:
        case = Case(proposal, briefing.tried, briefing.head_plan, families=briefing.families)
        reviews = [auditor.review(case) for auditor in _RULES]
        problems = [Problem("", f"{review.kind}: {review.reason}") for review in reviews if not review.passed]
    return proposal, problems


def _proposal(candidate: Candidate, plan: Plan, briefing: Briefing, refused: Sequence[Problem]) -> Proposal:
    reasons = candidate.rationale
    rationale = Rationale(_text(reasons.what), _text(reasons.why), _text(reasons.expected_gain), _text(reasons.risks))
    forbidden = [
        Intervention(one.target, "not allowed", one.why, "nothing: it is refused", "it is outside of what may change")
        for one in refused[:MOST_INTERVENTIONS]
    ]
    if briefing.subject == "prompt" and briefing.head_plan is None:
        briefing = replace(briefing, head_plan=PromptPlan(Prompt()))
    changes = [_intervention(one) for one in candidate.interventions[:MOST_INTERVENTIONS]]
    return Proposal(plan, diff(plan, briefing), rationale, (*changes, *forbidden))


def _intervention(one: Change) -> Intervention:
    target = clip(" ".join(clean(one.target).split()), 80)
    return Intervention(target, _text(one.what), _text(one.why), _text(one.expected), _text(one.risk))


def _text(text: str) -> str:
    return clip(clean(text), LONGEST_TEXT)


def _training(candidate: TrainingCandidate) -> TrainingPlan:
    settings = TrainSettings(candidate.steps, candidate.batch_size, candidate.learning_rate)
    source = _name(candidate.source)
    return TrainingPlan(_names(candidate), candidate.rows_per_family, candidate.replay_share, settings, source)


def _prompt(candidate: PromptCandidate, briefing: Briefing) -> tuple[PromptPlan, list[Problem]]:
    """The head's prompt with the places that were given; the head's own where they cannot be accepted."""
    head = briefing.head_plan.prompt if isinstance(briefing.head_plan, PromptPlan) else Prompt()
    problems = [
        Problem(f"prompt.{_name(place)}", f"prompt has no place {quoted(place)}; places: {', '.join(PLACES)}")
        for place in sorted(set(candidate.prompt) - set(PLACES))
    ]
    given = {place: value for place, value in candidate.prompt.items() if place in PLACES}
    try:
        prompt = Prompt.from_json(head.to_json() | given)
    except InvalidRequest as error:
        why = clip(" ".join(clean(error.message).split()), 300)
        return PromptPlan(head, _names(candidate)), [*problems, Problem(f"prompt ({why})", why)]
    problems += _words(prompt, head, briefing)
    return PromptPlan(head if problems else prompt, _names(candidate)), problems


def _words(prompt: Prompt, head: Prompt, briefing: Briefing) -> Iterator[Problem]:
    for family in sorted({one.family for one in prompt.examples} - set(briefing.families)):
        yield Problem(f"example of family {_name(family)}", f"an example's family {quoted(family)} does not exist")
    # only what is new: a head that its owner gave such characters can still be improved
    texts = {place: str(getattr(prompt, place)) for place in sorted(prompt.changed(head))}
    if "examples" in texts:
        texts["examples"] = "".join(one.task + one.answer for one in prompt.examples if one not in head.examples)
    for place, text in texts.items():
        if found := hidden(text):
            told = f"prompt.{place} holds characters that cannot be seen ({named(found)})"
            yield Problem(f"hidden characters in prompt.{place}", told)


def _ranges(candidate: TrainingCandidate, briefing: Briefing) -> Iterator[Problem]:
    rows, replay, rate = candidate.rows_per_family, candidate.replay_share, candidate.learning_rate
    checks: list[tuple[str, object, bool, str]] = [
        ("rows_per_family", rows, 1 <= rows <= briefing.max_rows_per_family, f"1 to {briefing.max_rows_per_family}"),
        ("replay_share", replay, 0.0 <= replay <= 1.0, "0 to 1"),
        ("steps", candidate.steps, 1 <= candidate.steps <= MOST_STEPS, f"1 to {MOST_STEPS}"),
        ("batch_size", candidate.batch_size, 1 <= candidate.batch_size <= MOST_BATCH, f"1 to {MOST_BATCH}"),
        ("learning_rate", rate, 0.0 < rate <= 1.0, "above 0, at most 1"),
        ("source", _name(candidate.source), candidate.source in ("collected", "known"), "collected or known"),
    ]
    for name, value, held, allowed in checks:
        if not held:
            yield Problem(f"{name} {value} (allowed: {allowed})", f"{name} is {value}, allowed is {allowed}")


def _families(candidate: Candidate, briefing: Briefing) -> Iterator[Problem]:
    known = ", ".join(briefing.families)
    for name in candidate.families:
        if name not in briefing.families:
            yield Problem(f"family {_name(name)}", f"there is no family {quoted(name)}; families: {clip(known, 600)}")
    if len(set(candidate.families)) < len(candidate.families):
        yield Problem("families twice", "a family is named twice")
    if len(candidate.families) > _MOST_FAMILIES:
        yield Problem("too many families", f"{len(candidate.families)} families, at most {_MOST_FAMILIES}")
    if isinstance(candidate, TrainingCandidate) and not candidate.families:
        yield Problem("families", "a plan that trains names at least one family")


def _targets(candidate: Candidate, briefing: Briefing) -> Iterator[Problem]:
    allowed = TARGETS[briefing.subject]
    for one in candidate.interventions:
        if one.target not in allowed:
            told = f"target {quoted(one.target)} may not be changed; allowed: {', '.join(allowed)}"
            # named once more, because the cleaned name of a forbidden target could be that of an allowed one
            yield Problem(f"target {_name(one.target)}", told)
    if len(candidate.interventions) > MOST_INTERVENTIONS:
        told = f"{len(candidate.interventions)} interventions, at most {MOST_INTERVENTIONS}"
        yield Problem("interventions", told)


def _texts(candidate: Candidate) -> Iterator[Problem]:
    forms: list[BaseModel] = [candidate.rationale, *candidate.interventions]
    for form in forms:
        for name, text in form.model_dump(exclude=set(form.model_extra or {})).items():
            if found := hidden(text):
                yield Problem(f"text {name}", f"{name} holds characters that cannot be seen ({named(found)})")
            if len(text.encode(errors="replace")) > LONGEST_TEXT:
                yield Problem(f"text {name}", f"{name} is longer than {LONGEST_TEXT} bytes")


def _extras(candidate: Candidate) -> Iterator[Problem]:
    forms: list[BaseModel] = [candidate, candidate.rationale, *candidate.interventions]
    for form in forms:
        for name in form.model_extra or {}:
            yield Problem(f"field {_name(name)}", f"there is no field {quoted(name)}; nothing else may be set")


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_name(one) for one in candidate.families[:_MOST_FAMILIES]))


def _name(text: str) -> str:
    """A name as it is kept: on one line, short, without what cannot be seen."""
    return clip(" ".join(clean(text).split()), 60)
