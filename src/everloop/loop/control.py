"""The control arm: what "training longer" alone would have brought.

Each build of the loop is matched by one block: the base's own rows again, as many steps as the candidate got, the
trainer's own learning rate and batch, seeds by the same policy, hard families drawn as often as a candidate's new rows.
It differs from the loop only in making no choices. It is shown beside v0, and beating it is a claim of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from everloop.events import Event, EventKind, Json
from everloop.loop import jobs, rows
from everloop.loop.context import Context, lines_of
from everloop.loop.failure import Failure, Remedy
from everloop.loop.journal import Done
from everloop.loop.lines import Control, Lines
from everloop.operators.plans import TrainingPlan
from everloop.store.runs import RunRow
from everloop.students.base import Row, TrainSettings

HARD_SHARE = 0.7
"""Share of a batch drawn from families of which the base had fewer rows; a candidate's new rows get the same."""
ROWS = "control"
"""Name of the control's rows file."""


def begin(context: Context, lines: Lines) -> Control:
    """The arm before its first block: the base itself; writes its rows file."""
    gold = rows.read(context, lines.base.known_rows)
    rows.write(context, ROWS, _weighted(gold))
    return Control(lines.base.checkpoint, lines.base.sha256, len(gold), 0, 0)


def _weighted(gold: list[Row]) -> list[Row]:
    counts: dict[str, int] = {}
    for row in gold:
        counts[row.family] = counts.get(row.family, 0) + 1
    most = max(counts.values())
    hard = [row for row in gold if counts[row.family] < most]
    easy = [row for row in gold if counts[row.family] == most]
    if not hard:
        return rows.weighted(easy, 1.0)
    return rows.weighted(hard, HARD_SHARE) + rows.weighted(easy, 1 - HARD_SHARE)


def next_block(lines: Lines, number: int, plan: TrainingPlan) -> tuple[Lines, Json]:
    """The lines with the control's block that matches a build of this round, and that block."""
    arm = cast(Control, lines.control)
    steps = plan.settings.steps
    block: Json = {"name": f"control-{number:04d}", "round": number, "steps": steps, "parent": arm.checkpoint}
    return replace(lines, control=replace(arm, pending=block)), block


def start(context: Context, block: Json, candidate: jobs.Training) -> None:
    """Launch candidate and control side by side, so that the control costs no waiting on a second core."""
    if context.trainer.capabilities().inline:
        return
    jobs.launch(context, candidate, 1)
    try:
        jobs.launch(context, _training(context, block), 1)
    except Failure as failure:
        if failure.remedy is not Remedy.STOP:
            raise  # at a cap, `settle` launches it once the candidate's reservation is settled


def _training(context: Context, block: Json) -> jobs.Training:
    number = cast(int, block["round"])
    settings: TrainSettings = replace(context.trainer.defaults(base=False), steps=cast(int, block["steps"]))
    file, parent = f"rows/{ROWS}.jsonl", str(block["parent"])
    return jobs.Training(
        str(block["name"]), number, "control", file, parent, context.seed(number, "train", 0), settings
    )


def settle(context: Context, number: int, pending: Json | None, key: str = "") -> None:
    """Wait for the pending block, if any, and make it the arm's newest checkpoint."""
    if pending is None:
        return
    try:
        left = jobs.train(context, _training(context, pending))
    except Failure as failure:
        if failure.remedy is not Remedy.REJECT:
            raise
        left = {"failed": failure.message}
    context.journal.phase(number, "control", lambda row: _settle(row, number, left, pending), candidate=key)


def _settle(row: RunRow, number: int, left: Json, pending: Json) -> Done:
    lines = lines_of(row)
    arm = cast(Control, lines.control)
    if "failed" in left:
        event = Event(EventKind.ERROR, f"control block failed: {left['failed']}", number, "control", "loop")
        arm = replace(arm, pending=None, missed=arm.missed + cast(int, pending["steps"]))
        return Done({"blocks": arm.blocks}, [event], lines=replace(lines, control=arm))
    steps = arm.steps + cast(int, pending["steps"])
    arm = replace(
        arm,
        checkpoint=str(left["checkpoint"]),
        sha256=str(left["sha256"]),
        steps=steps,
        blocks=arm.blocks + 1,
        pending=None,
    )
    event = Event(EventKind.MESSAGE, f"control arm: {arm.blocks} blocks, {steps} steps", number, "control", "loop")
    return Done({"blocks": arm.blocks}, [event], lines=replace(lines, control=arm))
