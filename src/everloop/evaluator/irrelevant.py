"""Changes that are obviously irrelevant, made from recorded candidates, and probes that change nothing.

The seed's case: candidates that only swap one adjective for another got high scores, because tiny changes had been
labelled good. So each recorded plan becomes a head against which a change without substance is proposed, in the very
words in which the recorded candidate was recommended: only the change can tell it apart, not the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import cast
from zlib import crc32

from everloop.errors import InvalidRequest
from everloop.evaluator.base import Candidate
from everloop.events import Json, JsonValue
from everloop.operators.base import Plan
from everloop.operators.plans import plan_of

PROBES = ("identical_plan", "empty_diff", "only_a_rationale")
"""Kinds of probes: the head's plan again, again without a diff, again with neither diff nor interventions."""
_SYNONYMS = {
    "answer": "reply",
    "brief": "short",
    "calculate": "compute",
    "careful": "attentive",
    "carefully": "attentively",
    "clear": "plain",
    "compute": "calculate",
    "correct": "right",
    "exact": "precise",
    "exactly": "precisely",
    "expert": "skilled",
    "final": "last",
    "good": "fine",
    "helpful": "useful",
    "number": "figure",
    "only": "just",
    "precise": "exact",
    "quick": "fast",
    "quickly": "rapidly",
    "reply": "answer",
    "right": "correct",
    "short": "brief",
    "solve": "work out",
    "task": "exercise",
    "write": "put down",
}
_WORD = re.compile(r"(?<![{\w])[A-Za-z]+(?![}\w])")


def irrelevant(candidate: Candidate, count: int) -> list[Candidate]:
    """Up to `count` changes without substance against the candidate's own plan; the same ones each time."""
    document = cast(Json, candidate.proposal["plan"])
    head = plan_of(document)
    random = Random(crc32(head.fingerprint().encode()))  # noqa: S311 - chooses examples, guards nothing
    makers = {"prompt": _prompts, "training": _trainings}
    changed = list(makers[kind](document)) if (kind := str(document["kind"])) in makers else []
    random.shuffle(changed)
    made = (_plan(one) for one in changed)
    plans = [plan for plan in made if plan is not None and plan.fingerprint() != head.fingerprint()]
    return [_proposed(candidate, head, plan) for plan in plans[:count]]


def probes(candidate: Candidate) -> dict[str, Candidate]:
    """One of each of `PROBES`: no change at all, in the words of the recorded candidate."""
    plan = plan_of(cast(Json, candidate.proposal["plan"]))
    same = replace(candidate, head_plan=plan)
    no_diff = replace(same, proposal={**candidate.proposal, "diff": ""})
    words_only = replace(same, proposal={**candidate.proposal, "diff": "", "interventions": []})
    return dict(zip(PROBES, (same, no_diff, words_only), strict=True))


def _proposed(candidate: Candidate, head: Plan, plan: Plan) -> Candidate:
    diff = _diff(head.describe(), plan.describe())
    interventions = cast(list[JsonValue], candidate.proposal["interventions"])[:1]
    proposal: Json = {**candidate.proposal, "plan": plan.to_json(), "diff": diff, "interventions": interventions}
    return Candidate(proposal, head, candidate.tried)


def _diff(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    lines = ["--- plan of the head", "+++ this plan"]
    for name, value in after.items():
        old = before.get(name)
        lines += [f"  {name}: {value}"] if old == value else [f"- {name}: {old}", f"+ {name}: {value}"]
    return "\n".join(lines)


def _plan(document: Json) -> Plan | None:
    try:
        return plan_of(document)
    except InvalidRequest:  # the longer text has no room in its place
        return None


def _trainings(document: Json) -> Iterator[Json]:
    """Another seed, and every setting moved by next to nothing."""
    yield document | {"seed_salt": cast(int, document["seed_salt"]) + 1}
    settings = cast(Json, document["settings"])
    for factor in (0.98, 1.02):
        rate = cast(float, settings["learning_rate"]) * factor
        yield document | {"settings": settings | {"learning_rate": rate}}
        yield document | {"rows_per_family": max(1, round(cast(int, document["rows_per_family"]) * factor))}
    yield document | {"settings": settings | {"steps": cast(int, settings["steps"]) + 1}}
    yield document | {"families": list(reversed(cast(list[JsonValue], document["families"])))}


def _prompts(document: Json) -> Iterator[Json]:
    """A synonym, white space, a remark, examples in another order."""
    prompt = cast(Json, document["prompt"])
    system = str(prompt["system"])
    texts = [{"system": swapped} for swapped in _swapped(system)]
    texts += [{"template": swapped} for swapped in _swapped(str(prompt["template"]))]
    texts += [{"system": system + "  "}, {"system": system.replace(". ", ".  ")}]
    texts += [{"system": system.replace("\n", "\n\n")}, {"template": f"{prompt['template']} "}]
    if len(system) > 60:  # in a shorter text a remark is a larger share than it seems
        texts.append({"system": f"{system} (v2)"})
    for one in texts:
        yield document | {"prompt": {**prompt, **one}}
    examples = cast(list[JsonValue], prompt["examples"])
    if len(examples) > 1:
        yield document | {"prompt": {**prompt, "examples": [*examples[1:], examples[0]]}}


def _swapped(text: str) -> Sequence[str]:
    """The text with one of its words replaced by a synonym, once for each word that has one."""
    found = []
    for match in _WORD.finditer(text):
        other = _SYNONYMS.get(match[0].lower())
        if other is not None:
            other = other.capitalize() if match[0][0].isupper() else other
            found.append(text[: match.start()] + other + text[match.end() :])
    return found
