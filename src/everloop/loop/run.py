"""A run from its first unfinished round to its end or pause."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from sqlalchemy import Connection

from everloop.errors import ApprovalNeeded
from everloop.events import Event, EventKind, Json
from everloop.ledger import calls
from everloop.loop import approval, certification, control, durable, final, jobs, screening, start
from everloop.loop import round as rounds_of
from everloop.loop.context import Context, Means, lines_of
from everloop.loop.failure import Failure, Remedy
from everloop.loop.journal import Done
from everloop.loop.lines import Lines
from everloop.store import approvals, gates, rounds, runs, scores, steers
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow


class Loop:
    """The workflows of the engine, for one worker."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def run(self, run: str, generation: int) -> None:
        """Carry a run on; how it ends is written to the store, never raised."""
        context = self._context(run)
        key = f"g{generation}"
        if context.journal.done(0, "left", key) is not None or context.journal.done(0, "end", key) is not None:
            return  # this generation is over; a replay must not go on beside the next one
        try:
            self._carry(context, generation)
        except Failure as failure:
            _leave(context, failure, "failed" if failure.remedy is Remedy.FAIL else "paused")

    def _carry(self, context: Context, generation: int) -> None:
        key = f"g{generation}"
        closing = context.journal.done(0, "closing", key)
        if closing is None:
            reason = self._reason(context, generation)
            closing = context.journal.phase(0, "closing", lambda row: _closing(row, reason), candidate=key)
        _finish(context, closing, key)

    def _reason(self, context: Context, generation: int) -> str:
        """Carry out rounds until the run is to end; returns the state it ends in, and why."""
        try:
            return self._rounds(context, generation)
        except Failure as failure:
            if failure.remedy is not Remedy.STOP:
                raise
            return f"stopped: {failure.message}"

    def round(self, run: str, generation: int, number: int) -> str:  # noqa: ARG002 - part of the workflow's identity
        """Carry out one round; a failure travels to the run's workflow as a value."""
        try:
            return rounds_of.carry(self._context(run), number)
        except Failure as failure:
            return f"{_FAILED}{failure.code}\n{failure.message}"

    def _context(self, run: str) -> Context:
        def look() -> RunRow:
            with self._means.database.read() as tx:
                return runs.require(tx, run)

        return Context(self._means, self._means.database.retrying(look))

    def _rounds(self, context: Context, generation: int) -> str:
        start.begin(context)
        number, first = _first(context, generation)
        certification.settle(context)
        while (reason := _turn(context, number, first, generation)) == "go":
            decision = durable.round_of(context.run, generation, number)
            if decision.startswith(_FAILED):
                raise Failure(*decision.removeprefix(_FAILED).split("\n", 1))
            number += 1
        return reason


_FAILED = "!"


def _first(context: Context, generation: int) -> tuple[int, int]:
    """The first unfinished round when this generation began, and the one since which patience counts.

    Journalled, since a replay must not see a later one. Patience begins anew when somebody resumes or extends a run,
    and not when it goes on because an approval was decided.
    """
    earlier = _earlier(context, generation)

    def work(row: RunRow) -> Done:
        with context.means.database.read() as tx:
            newest = rounds.get(tx, context.run, row.round) if row.round else None
        done = row.round if newest is None or newest.decision is not None else row.round - 1
        text = f"run {row.run} goes on at round {done + 1}"
        told = [Event(EventKind.ROUND, text, done, "begin", "loop")] if generation > 1 else []
        result: Json = {"round": done + 1}
        if earlier is not None:
            result["first"] = earlier
        return Done(result, told, columns={"state": "running", "error": None, "ended_at": None})

    begun = context.journal.phase(0, "generation", work, candidate=f"g{generation}")
    number = cast(int, begun["round"])
    return number, cast(int, begun.get("first", number))


def _earlier(context: Context, generation: int) -> int | None:
    """Where patience counts from in a generation that a decision began; None in any other."""
    if not approval.needed(context) or context.journal.done(0, approvals.CARRIED, f"g{generation}") is None:
        return None
    before = context.journal.done(0, "generation", f"g{generation - 1}") or {}
    return cast(int | None, before.get("first", before.get("round")))


def _turn(context: Context, number: int, first: int, generation: int) -> str:
    """The boundary before a round: ``go``, or why the run ends here."""
    key = f"g{generation}"
    return str(
        context.journal.phase(number, "turn", lambda row: Done(_decide(context, row, number, first)), candidate=key)[
            "go"
        ]
    )


def _decide(context: Context, row: RunRow, number: int, first: int) -> Json:
    lines = lines_of(row)
    if row.stop_requested:
        return {"go": "stopped: the owner asked for it"}
    if (scored := _goal(context, lines)) is not None:
        return {"go": f"finished: the goal is reached, {scored}"}
    if number > row.rounds_target:
        return {"go": "finished: the target is reached"}
    if number > (carried := _carried(context, row)):
        return {"go": f"finished: the fresh items of {row.domain} last for {carried} rounds"}
    stop, done = context.stop, number - 1
    if stop.patience is not None and done - max(lines.certified_round, first - 1) >= stop.patience:
        return {"go": f"finished: no version certified in {stop.patience} rounds"}
    if stop.wall_seconds is not None and _age(row) >= stop.wall_seconds:
        return {"go": f"finished: {stop.wall_seconds:g} s have passed"}
    return {"go": "go"}


def _carried(context: Context, row: RunRow) -> int:
    """Rounds that fresh items last for, those of the final gates that were held and of the next one set aside."""
    with context.means.database.read() as tx:
        held = gates.finals(tx, row.run)
    supply = {family: context.domain.supply(family) for family in context.protocol.families}
    return context.protocol.carries(supply, final_gates=held + 1)


def _age(row: RunRow) -> float:
    """Wall seconds since the run's first phase."""
    begun = datetime.fromisoformat(row.started_at) if row.started_at else utcnow()
    return (utcnow() - begun).total_seconds()


def _goal(context: Context, lines: Lines) -> str | None:
    """What the certified version scored on its certification items, once that reaches the goal; None before."""
    goal = context.goal
    if goal is None or lines.version == "v0":
        return None
    with context.means.database.read() as tx:
        score = scores.get(tx, context.run, lines.version, "certify", goal.split)
    if score is None or score.mean is None or score.mean < goal.target:
        return None
    return f"{lines.version} scored {score.mean:.3f} on {score.n} certification items of {goal.split}"


def _closing(row: RunRow, reason: str) -> Done:
    return Done({"round": row.round, "reason": reason, "has_version": row.lines is not None})


def _finish(context: Context, closing: Json, key: str) -> None:
    """Certify what is left, settle the control, hold the final gate, close the run."""
    number, reason = cast(int, closing["round"]), str(closing["reason"])
    try:
        if closing["has_version"]:
            _last_words(context, number, key)
    except Failure as failure:
        if failure.remedy is not Remedy.STOP:
            raise
        reason = f"stopped: {failure.message}"
    jobs.abandon(context.means, context.launcher, context.run)
    context.journal.phase(0, "end", lambda row: _close(row, number, reason), candidate=key)


def _last_words(context: Context, number: int, key: str) -> None:
    certification.certify(context, number, key=key, last=True)
    pending = context.journal.phase(number, "control-pending", _pending, candidate=key)
    try:
        control.settle(context, number, cast(Json | None, pending["pending"]), key=key)
    except Failure as failure:
        if failure.remedy is not Remedy.STOP:
            raise  # at a cap the control stays a block short: nothing is claimed against it, and the gate costs no job
    screening.draw_dev(context, number, key)
    final.final_gate(context, number, key)


def _pending(row: RunRow) -> Done:
    arm = lines_of(row).control
    return Done({"pending": arm.pending if arm else None})


def _close(row: RunRow, number: int, reason: str) -> Done:
    state = reason.split(":", 1)[0]
    event = Event(EventKind.ROUND, f"run {row.run} {reason}", number, "end", "loop", data={"state": state})
    columns = {"state": state, "stop_requested": False, "ended_at": iso(utcnow())}

    def write(tx: Connection) -> None:
        steers.drop(tx, row.run)
        calls.forget_answers(tx, row.run, f"r{number}.")

    return Done({"state": state}, [event], write, columns=columns)


def _leave(context: Context, failure: Failure, state: str) -> None:
    """End a generation that failed: the run is paused, to be resumed, or failed for good."""
    context.journal.phase(
        0, "left", lambda row: _left(context, row, failure, state), candidate=f"g{context.row.generation}"
    )


def _left(context: Context, row: RunRow, failure: Failure, state: str) -> Done:
    if state == "paused" and row.stop_requested:
        state = "stopped"  # a stop of a paused run ends it at once
    waits = failure.code == ApprovalNeeded.code
    then = "resume goes on where it broke off" if state == "paused" else "no resume mends it"
    if waits:
        then = "it goes on when that is decided"
    if state == "stopped":
        then = "it had been asked to stop"
    text = f"run {row.run} {state}: {failure.code}: {failure.message}; {then}"
    event = Event(EventKind.ERROR, text, row.round, state, "loop", data={"code": failure.code, "state": state})
    columns: dict[str, object] = {"state": state, "error": failure.to_json(), "stop_requested": False}
    if state == "paused":
        if waits:
            return approval.paused(row, event, columns)
        return Done({"state": state}, [event], columns=columns, rests_on={"stop_requested": row.stop_requested})
    jobs.abandon(context.means, context.launcher, row.run)
    columns["ended_at"] = iso(utcnow())
    return Done({"state": state}, [event], lambda tx: steers.drop(tx, row.run), columns=columns)
