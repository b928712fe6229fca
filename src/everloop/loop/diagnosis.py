"""Diagnosis: the working head on fresh items at the start of a round; its failures become experiences."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json
from everloop.experience.base import Experience
from everloop.experience.collector import collect as gather
from everloop.loop import itemsets
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.measure import Answers, Measure
from everloop.operators.base import FamilyResult
from everloop.store import experiences, phases
from everloop.store.experiences import ExperienceRow
from everloop.store.runs import RunRow

FAILURES = 8
"""Failure samples a family may give a briefing."""


def diagnose(context: Context, row: RunRow, number: int) -> Done:
    """The working head on fresh items; its failures become experiences."""
    lines = lines_of(row)
    families = context.domain.families()
    draw = itemsets.fresh(context, "diag", context.limits.diag_per_family * len(families))
    answers = Measure(context, f"r{number}.diagnose").incumbent(context.checkpoint(lines.head.checkpoint), draw.items)
    results = _results(families, draw.items, answers)
    found = gather(context.domain, draw.items, answers.texts, answers.outcomes, per_family=FAILURES)

    def write(tx: Connection) -> None:
        draw.keep(tx, context.run)
        experiences.put(tx, context.run, [_row(number, lines.head.name, one) for one in found])

    text = "diagnosis: " + ", ".join(f"{family} {right}/{n}" for family, (right, n) in results.items())
    result: Json = {"families": {family: [right, n] for family, (right, n) in results.items()}}
    event = Event(EventKind.TOOL_RESULT, text, number, "diagnose", "operator", "diagnose", result)
    return Done(result, [event], write)


def _row(number: int, born: str, one: Experience) -> ExperienceRow:
    told = (one.goal, one.observed, one.action, one.feedback, one.improvement, one.gold)
    return ExperienceRow(one.family, *told, one.content_hash, number, born)


def _results(families: tuple[str, ...], items: tuple[Item, ...], answers: Answers) -> dict[str, tuple[int, int]]:
    counts = dict.fromkeys(families, (0, 0))
    for item, outcome in zip(items, answers.outcomes, strict=True):
        if outcome is not None:
            right, n = counts[item.family]
            counts[item.family] = (right + outcome, n + 1)
    return counts


def read(tx: Connection, run: str, number: int) -> dict[str, FamilyResult]:
    """The diagnosis of a round, by family."""
    diagnosed = phases.get(tx, run, number, "diagnose", "") or {}
    counted = cast(dict[str, tuple[int, int]], diagnosed["families"])
    return {family: FamilyResult(right, n) for family, (right, n) in counted.items()}


def failures(tx: Connection, context: Context, number: int) -> list[Experience]:
    """The failures it found, balanced per family."""
    found = experiences.recent(tx, context.run, number, FAILURES * len(context.domain.families()))
    return [
        Experience(one.family, one.goal, one.observed, one.action, one.feedback, one.improvement, one.gold)
        for one in found
    ]
