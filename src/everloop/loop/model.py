"""Runs of kind `model`: how v0, a candidate and the control arm are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json
from everloop.loop import control, itemsets, jobs, rows
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.lines import Artifact, Lines
from everloop.loop.measure import Measure
from everloop.operators.base import Plan
from everloop.store.runs import RunRow
from everloop.students.base import Row


def base(context: Context) -> Artifact:
    """Build v0: the base, trained on the domain's starter rows."""
    made = context.journal.phase(0, "base-rows", lambda _: _starter(context))
    training = jobs.Training(
        "base", 0, "base", str(made["file"]), None, context.seed("base"), context.trainer.defaults(base=True)
    )
    left = jobs.train(context, training)
    return _artifact("v0", left, str(made["file"]), None)


def _artifact(name: str, left: Json, known: str, plan: Json | None) -> Artifact:
    return Artifact(name, str(left["checkpoint"]), str(left["sha256"]), int(cast(int, left["rows"])), known, plan)


def _starter(context: Context) -> Done:
    counts = {family: context.domain.starter_rows(family) for family in context.domain.families()}
    drawn, draw = itemsets.of_family(context, "train", counts)
    gold = [Row(item.family, item.prompt, item.answer) for items in drawn.values() for item in items]
    file = rows.write(context, "base", gold)
    event = Event(EventKind.MESSAGE, f"{len(gold)} gold rows for the base", 0, "build", "loop")
    return Done({"file": file, "rows": len(gold)}, [event], lambda tx: draw.keep(tx, context.run))


def collect(context: Context, number: int, candidate: str, plan: Plan) -> Json:
    """Phase: sample the head on fresh tasks, keep what the judge verifies, add replay; returns ``{"file", ...}``."""
    return context.journal.phase(
        number,
        "collect",
        lambda row: _collect(context, row, number, candidate, plan),
        candidate=candidate,
        announce=True,
    )


def _collect(context: Context, row: RunRow, number: int, candidate: str, plan: Plan) -> Done:
    lines = lines_of(row)
    fresh: list[Row] = []
    draw = None
    tasks = 0
    if plan.source == "collected":
        drawn, draw = itemsets.of_family(context, "train", dict.fromkeys(plan.families, context.limits.collect_tasks))
        tasks = len(draw.items)
        fresh = _verified(context, lines, number, candidate, drawn, plan)
    before = rows.read(context, lines.head.known_rows)
    known = rows.newest(before, fresh, context.limits.max_rows_per_family)
    fresh_prompts = {one.prompt for one in fresh}
    mixed = _mix(plan, fresh, [one for one in known if one.prompt not in fresh_prompts])
    file = rows.write(context, candidate, mixed)
    kept = rows.write(context, f"{candidate}-known", known)
    text = (
        f"{len(fresh)} of {tasks} tasks verified in {', '.join(plan.families)}; {len(mixed) - len(fresh)} rows replayed"
    )
    result: Json = {"file": file, "known_file": kept, "rows": len(mixed), "new": len(fresh), "tasks": tasks}
    result["parent"] = lines.head.checkpoint
    event = Event(EventKind.TOOL_RESULT, text, number, "collect", "student", "sample", {"candidate": candidate})
    return Done(result, [event], lambda tx: draw.keep(tx, context.run) if draw else None)


def _verified(
    context: Context, lines: Lines, number: int, candidate: str, drawn: Mapping[str, tuple[Item, ...]], plan: Plan
) -> list[Row]:
    """Rows the head answered rightly at least once in `collect_k` samples, at most so many a family."""
    items = [item for family in drawn.values() for item in family]
    measure = Measure(context, f"r{number}.collect.{candidate}")
    seed = context.seed(number, candidate, "collect")
    answers = measure.samples(context.checkpoint(lines.head.checkpoint), items, context.limits.collect_k, seed)
    cap = min(plan.rows_per_family, context.limits.max_rows_per_family)
    taken: dict[str, int] = {}
    kept: list[Row] = []
    for item, texts in zip(items, answers, strict=True):
        right = next((text for text in texts if context.domain.verify(item, text)), None)
        if right is not None and taken.get(item.family, 0) < cap:
            taken[item.family] = taken.get(item.family, 0) + 1
            kept.append(Row(item.family, item.prompt, right))
    return kept


def _mix(plan: Plan, fresh: list[Row], replay: list[Row]) -> list[Row]:
    """New rows and replay, weighted so that a batch draws `replay_share` of itself from replay."""
    if not fresh:
        return rows.weighted(replay, 1.0)
    if not replay or plan.replay_share == 0:
        return rows.weighted(fresh, 1.0)
    return rows.weighted(fresh, 1 - plan.replay_share) + rows.weighted(replay, plan.replay_share)


def build(context: Context, number: int, candidate: str, plan: Plan, collected: Json, block: Json) -> Artifact:
    """Train a candidate from the head it was collected from, and the control's block beside it.

    Failure when the candidate's training did not succeed.
    """
    training = jobs.Training(
        candidate,
        number,
        "candidate",
        str(collected["file"]),
        str(collected["parent"]),
        context.seed(number, "train", plan.seed_salt),
        plan.settings,
    )
    control.start(context, block, training)
    left = jobs.train(context, training)
    return _artifact(candidate, left, str(collected["known_file"]), plan.to_json())
