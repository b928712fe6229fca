"""One round: diagnose, propose, and for each candidate screen, build, evaluate, audit, decide, certify."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.events import Event, EventKind, Json, JsonValue
from everloop.ledger import calls, reservations
from everloop.loop import candidate, control, diagnosis, proposing, soft_score
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.store import candidates, directives, rounds, steers
from everloop.store.runs import RunRow


def carry(context: Context, number: int) -> str:
    """Carry out a round and return its decision. Raises Failure for what stops, pauses or fails the run."""
    opened = context.journal.phase(number, "open", lambda row: _open(context, row, number))
    control.settle(context, number, cast(Json | None, opened["pending"]))
    context.journal.phase(number, "diagnose", lambda row: diagnosis.diagnose(context, row, number), announce=True)
    proposed = context.journal.phase(number, "propose", lambda row: proposing.propose(context, row, number, opened))
    names = cast(list[str], proposed["candidates"])
    outcomes = [candidate.carry(context, number, name) for name in names]
    closed = context.journal.phase(
        number, "summarise", lambda _: _summarise(context, number, outcomes, cast(Json, opened["spend"]))
    )
    return str(closed["decision"])


def _open(context: Context, row: RunRow, number: int) -> Done:
    """The turn boundary: steers that are waiting are delivered with the opening of the round."""
    lines = lines_of(row)
    pending = lines.control.pending if lines.control else None
    with context.means.database.read() as tx:
        waiting = steers.queued(tx, context.run)
        spend = reservations.spend(tx, context.run).to_json()
        standing = len(directives.listing(tx, context.run))
    told = [Event(EventKind.ROUND, f"round {number} of {row.rounds_target} begins", number, "open", "loop")]
    for steer in waiting:
        data: Json = {"steer": steer.id, "status": "delivered"}
        told.append(Event(EventKind.STEER, f"steer delivered: {steer.text}", number, "open", "operator", data=data))

    def write(tx: Connection) -> None:
        rounds.begin(tx, context.run, number)
        steers.mark_delivered(tx, context.run, [steer.id for steer in waiting], number)

    texts: list[JsonValue] = [steer.text for steer in waiting]
    result: Json = {"steers": texts, "directives": standing, "pending": pending, "spend": spend}
    return Done(result, told, write, columns={"round": number})


_RANK = {"certified": 4, "kept": 3, "reverted": 2, "error": 1, "rejected": 0}


def _summarise(context: Context, number: int, outcomes: list[Json], before: Json) -> Done:
    best = max(outcomes, key=lambda one: _RANK[str(one["decision"])], default=None)
    decision = str(best["decision"]) if best else "rejected"
    summary = str(best["summary"]) if best else "the operator proposed nothing"
    version = cast(str | None, best["version"]) if best else None
    with context.means.database.read() as tx:
        total = reservations.spend(tx, context.run).to_json()
        alarm = soft_score.alarm(tx, context.run, number)
        first = candidates.of_round(tx, context.run, number)
    spend = reservations.since(before, total)
    proposal = first[0].proposal if first else {}

    def write(tx: Connection) -> None:
        if context.dry:
            calls.forget_answers(tx, context.run, f"r{number}.")
        rounds.finish(
            tx,
            context.run,
            number,
            decision=decision,
            summary=summary,
            version=version,
            plan=str(cast(Json, proposal.get("rationale") or {}).get("what") or ""),
            spend=spend,
        )

    event = Event(EventKind.ROUND, f"round {number}: {decision}. {summary}", number, "summarise", "loop")
    return Done({"decision": decision, "version": version}, [event, *([alarm] if alarm else [])], write)
