"""Runs whose operator and auditor are a scripted model, on a server of their own beside the student's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dry
from dry import student
from scripted import Reply, Request, ScriptedServer

from everloop.gateway.base import Use
from everloop.service.installation import Installation
from everloop.service.request import StartRequest

Document = dict[str, Any]
HAND_IN, VERDICT = "submit_candidates", "give_verdict"
ARGUMENT = "Because of what only the argument says: 60 items."
GOOD = "Answer with the number that belongs to the task. quality=0.95"


def tools_of(request: Request) -> set[str]:
    return {one["function"]["name"] for one in request.body.get("tools", [])}


def candidate(**changes: Any) -> Document:
    """A candidate that the rules let through, with changes."""
    families = ["s1", "s2", "s3", "s4"]
    reasons = {
        "what": f"Write a system text above each task of {', '.join(families)}.",
        "why": f"The diagnosis shows failures in 4 families. {ARGUMENT}",
        "expected_gain": "The mean over 4 families should rise by at least 0.05.",
        "risks": "Answers of s1 could become longer than the reader expects.",
    }
    change = {
        "target": "prompt",
        "what": "system text",
        "why": "failures in 4 of 4 families",
        "expected": "more right answers",
        "risk": "longer answers",
    }
    made: Document = {"rationale": reasons, "interventions": [change], "families": families}
    return made | {"prompt": {"system": GOOD, "template": "What is {task}?"}} | changes


def submit(*candidates: Document) -> Reply:
    return Reply(tools=[(HAND_IN, {"candidates": list(candidates)})], output_tokens=40)


def verdict(passed: bool = True, reason: str = "a plausible experiment") -> Reply:
    return Reply(tools=[(VERDICT, {"passed": passed, "reason": reason, "concerns": []})], output_tokens=20)


Answer = Reply | Callable[[Request], Reply]


@dataclass
class Strong:
    """The strong model's script: the operator's answers in turn (the last one for ever), and the auditor's."""

    answers: Sequence[Answer]
    verdicts: Sequence[Answer] = field(default_factory=lambda: [verdict()])
    operator: list[Request] = field(default_factory=list)
    auditor: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        seen, script = (self.auditor, self.verdicts) if VERDICT in tools_of(request) else (self.operator, self.answers)
        seen.append(request)
        answer = script[min(len(seen), len(script)) - 1]
        return answer(request) if callable(answer) else answer


def distinct() -> Callable[[Request], Reply]:
    """An operator that always has another idea, none of which helps."""
    numbers = itertools.count(1)

    def answer(request: Request) -> Reply:
        number = next(numbers)
        words = f"{'abcdefghijklmnopqrstuvwxyz'[number % 26] * (20 + number % 300)} quality=0.05"
        return submit(candidate(prompt={"system": words, "template": "What is {task}?"}))

    return answer


def place(home: Path, strong: ScriptedServer, weak: ScriptedServer, url: str = "", **settings: Any) -> Installation:
    found = dry.place(home, weak, url, **settings)
    dry.add(found, strong, "strong", Use.OPERATOR, Use.AUDITOR, max_tokens=512)
    return found


def asked(run: str = "dry-1", **changes: Any) -> StartRequest:
    options = {"operator": "agent"} | changes.pop("options", {})
    return dry.asked(run, options=options, **({"rounds": 1} | changes))


def servers(script: Strong) -> tuple[ScriptedServer, ScriptedServer]:
    return ScriptedServer(script), ScriptedServer(student)
