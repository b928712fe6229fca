"""One round: diagnose, propose, and for each candidate screen, build, evaluate, audit, decide, certify."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.events import Event, EventKind, Json, JsonValue
from everloop.ledger import calls, reservations
from everloop.loop import candidate, control, diagnosis, memory, soft_score
from everloop.loop.context import Context, lines_of
from everloop.loop.desk import LoopDesk
from everloop.loop.journal import Done
from everloop.loop.kinds import kind_of
from everloop.loop.proposals import proposal_json
from everloop.operators.base import Briefing, Proposal, RoundSummary
from everloop.operators.plans import plan_of
from everloop.store import candidates, directives, rounds, steers
from everloop.store.runs import RunRow
from everloop.students.base import TrainSettings


def carry(context: Context, number: int) -> str:
    """Carry out a round and return its decision. Raises Failure for what stops, pauses or fails the run."""
    opened = context.journal.phase(number, "open", lambda row: _open(context, row, number))
    control.settle(context, number, cast(Json | None, opened["pending"]))
    context.journal.phase(number, "diagnose", lambda row: diagnosis.diagnose(context, row, number), announce=True)
    proposed = context.journal.phase(number, "propose", lambda row: _propose(context, row, number, opened))
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
    told = [Event(EventKind.ROUND, f"round {number} of {row.rounds_target} begins", number, "open", "loop")]
    for steer in waiting:
        data: Json = {"steer": steer.id, "status": "delivered"}
        told.append(Event(EventKind.STEER, f"steer delivered: {steer.text}", number, "open", "operator", data=data))

    def write(tx: Connection) -> None:
        rounds.begin(tx, context.run, number)
        steers.mark_delivered(tx, context.run, [steer.id for steer in waiting], number)

    texts: list[JsonValue] = [steer.text for steer in waiting]
    return Done({"steers": texts, "pending": pending, "spend": spend}, told, write, columns={"round": number})


def _propose(context: Context, row: RunRow, number: int, opened: Json) -> Done:
    briefing = _briefing(context, row, number, cast(list[str], opened["steers"]))
    made = soft_score.ordered(context, context.operator.propose(briefing), briefing.head_plan, briefing.tried)
    proposals = made[: cast(int, context.row.protocol["candidates_per_round"])]
    names = [f"r{number}c{place}" for place in range(1, len(proposals) + 1)]

    def write(tx: Connection) -> None:
        for name, proposal in zip(names, proposals, strict=True):
            document = proposal_json(proposal)
            candidates.put(
                tx, context.run, name, round=number, proposal=document, fingerprint=proposal.plan.fingerprint()
            )

    told = [_proposed(number, name, proposal) for name, proposal in zip(names, proposals, strict=True)]
    if not told:
        told = [Event(EventKind.MESSAGE, "the operator has no idea left", number, "propose", "operator")]
    return Done({"candidates": list(names)}, told, write)


def _proposed(number: int, name: str, proposal: Proposal) -> Event:
    data: Json = {"candidate": name, "plan": proposal.plan.to_json()}
    return Event(EventKind.MESSAGE, f"{name}: {proposal.rationale.what}", number, "propose", "operator", data=data)


def _briefing(context: Context, row: RunRow, number: int, delivered: list[str]) -> Briefing:
    lines = lines_of(row)
    with context.means.database.read() as tx:
        families = diagnosis.read(tx, context.run, number)
        failures = diagnosis.failures(tx, context, number)
        standing = [directive.text for directive in directives.listing(tx, context.run)]
    return Briefing(
        run=context.run,
        brief=row.brief,
        round=number,
        families=families,
        failures=failures,
        tried=memory.tried(context, lines.moved),
        defaults=TrainSettings() if context.dry else context.trainer.defaults(base=False),
        max_rows_per_family=context.limits.max_rows_per_family,
        directives=standing,
        steers=delivered,
        spend=_Purse(context, number).spend,
        subject=kind_of(context).subject,
        history=lambda before, limit: _history(context, before, limit),
        desk=LoopDesk(context, number, "propose"),
        head_plan=plan_of(lines.head.plan) if lines.head.plan else None,
    )


def _history(context: Context, before: int, limit: int) -> list[RoundSummary]:
    with context.means.database.read() as tx:
        found = rounds.before(tx, context.run, before, limit)
    return [RoundSummary(one.round, one.decision or "", one.plan or "", one.summary or "") for one in found]


class _Purse:
    """What an operator that pays asks before each request of one turn."""

    def __init__(self, context: Context, number: int) -> None:
        self._context, self._number, self._asked = context, number, 0

    def spend(self, what: str, micros: int) -> None:
        """Reserve and settle one request at its worst cost. CapReached when a cap would be passed."""
        self._asked += 1
        key = f"r{self._number}.propose.{self._asked}.{what}"
        means, run = self._context.means, self._context.run

        def pay() -> None:
            with means.database.write(durable=True, worker=means.worker) as tx:
                reservations.reserve(tx, run, key, model_micros=micros, model_requests=1)
                reservations.settle(tx, run, key, model_micros=micros, model_requests=1)

        means.database.retrying(pay)


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
    spend: Json = {name: round(cast(float, total[name]) - cast(float, before[name]), 6) for name in total}
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
