"""Live runs: how v0, a candidate and the control arm are trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json
from everloop.loop import control, itemsets, jobs, rows
from everloop.loop.context import Context, lines_of
from everloop.loop.failure import incumbent
from everloop.loop.journal import Done
from everloop.loop.kind import Student
from everloop.loop.lines import Artifact, Control, Lines
from everloop.loop.trained_student import TrainedStudent
from everloop.operators.base import Plan
from everloop.operators.plans import TrainingPlan
from everloop.store.runs import RunRow
from everloop.students import checkpoints
from everloop.students.base import Row


class TrainingKind:
    """Runs whose candidates are trained."""

    subject = "training"
    """Takes `TrainingPlan`."""
    targets = frozenset({"data", "settings"})
    """Which rows, and how they are trained on."""

    def student(self, context: Context) -> Student:
        """The run's trainer."""
        return TrainedStudent(context)

    def base(self, context: Context) -> Artifact:
        """Build v0: the base, trained on the domain's starter rows."""
        return _base(context)

    def control(self, context: Context, lines: Lines) -> Control | None:
        """The base, before it is trained on its own rows again."""
        return control.begin(context, lines)

    def refuses(self, plan: Plan) -> str | None:
        """A plan that trains nothing."""
        return None if isinstance(plan, TrainingPlan) else "a live run takes a training plan; prompts are for dry runs"

    def gather(self, context: Context, number: int, name: str, plan: Plan) -> Json:
        """Phase: sample the head on fresh tasks, keep what the judge verifies, add replay."""
        return context.journal.phase(
            number,
            "collect",
            lambda row: _collect(context, row, number, name, cast(TrainingPlan, plan)),
            candidate=name,
            announce=True,
        )

    def changes(self, plan: Plan, head: Plan | None) -> frozenset[str]:  # noqa: ARG002 - a plan is all data and settings
        """None that could be left unsaid: every training plan is about data and settings."""
        return frozenset()

    def defects(self, context: Context, plan: Plan) -> list[str]:  # noqa: ARG002 - the judge verified every row
        """None: rows are gold or were verified."""
        return []

    def rows(self, context: Context, plan: Plan, gathered: Json) -> list[Row]:  # noqa: ARG002 - the rows are in a file
        """The training rows."""
        return rows.read(context, str(gathered["file"]))

    def block(self, lines: Lines, number: int, plan: Plan) -> tuple[Lines, Json | None]:
        """The control's block that matches the candidate's training."""
        return control.next_block(lines, number, cast(TrainingPlan, plan))

    def build(self, context: Context, number: int, name: str, plan: Plan, gathered: Json, block: Json) -> Artifact:
        """Train a candidate from the head it was collected from, and the control's block beside it."""
        return _build(context, number, name, cast(TrainingPlan, plan), gathered, block)

    def verify(self, artifact: Path) -> str:
        """Hash of the weights."""
        return checkpoints.verify(artifact).weights_sha256


def _base(context: Context) -> Artifact:
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


def _collect(context: Context, row: RunRow, number: int, candidate: str, plan: TrainingPlan) -> Done:
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
    context: Context,
    lines: Lines,
    number: int,
    candidate: str,
    drawn: Mapping[str, tuple[Item, ...]],
    plan: TrainingPlan,
) -> list[Row]:
    """Rows the head answered rightly at least once in `collect_k` samples, at most so many a family."""
    items = [item for family in drawn.values() for item in family]
    prompts, head = [item.prompt for item in items], context.checkpoint(lines.head.checkpoint)
    seed, key = context.seed(number, candidate, "collect"), f"r{number}.collect.{candidate}.samples"
    with incumbent("sampled"):
        answers = TrainedStudent(context).samples(head, prompts, key, k=context.limits.collect_k, seed=seed)
    cap = min(plan.rows_per_family, context.limits.max_rows_per_family)
    taken: dict[str, int] = {}
    kept: list[Row] = []
    for item, texts in zip(items, answers, strict=True):
        right = next((text for text in texts if context.domain.verify(item, text)), None)
        if right is not None and taken.get(item.family, 0) < cap:
            taken[item.family] = taken.get(item.family, 0) + 1
            kept.append(Row(item.family, item.prompt, right))
    return kept


def _mix(plan: TrainingPlan, fresh: list[Row], replay: list[Row]) -> list[Row]:
    """New rows and replay, weighted so that a batch draws `replay_share` of itself from replay."""
    if not fresh:
        return rows.weighted(replay, 1.0)
    if not replay or plan.replay_share == 0:
        return rows.weighted(fresh, 1.0)
    return rows.weighted(fresh, 1 - plan.replay_share) + rows.weighted(replay, plan.replay_share)


def _build(context: Context, number: int, candidate: str, plan: TrainingPlan, collected: Json, block: Json) -> Artifact:
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
