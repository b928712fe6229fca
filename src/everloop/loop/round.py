"""One round: diagnose, propose, and for each candidate screen, build, evaluate, audit, decide, certify."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from everloop.domains.base import Item
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.experience.base import Experience
from everloop.experience.collector import collect as gather
from everloop.ledger import reservations
from everloop.loop import candidate, control, itemsets, memory
from everloop.loop.context import Context, lines_of
from everloop.loop.journal import Done
from everloop.loop.measure import Answers, Measure
from everloop.loop.proposals import plan_of, proposal_json
from everloop.operators.base import Briefing, FamilyResult, Proposal
from everloop.store import candidates, directives, experiences, phases, rounds, steers
from everloop.store.experiences import ExperienceRow
from everloop.store.runs import RunRow

FAILURES = 8
"""Failure samples a family may give a briefing."""


def carry(context: Context, number: int) -> str:
    """Carry out a round and return its decision. Raises Failure for what stops, pauses or fails the run."""
    opened = context.journal.phase(number, "open", lambda row: _open(context, row, number))
    control.settle(context, number, cast(Json | None, opened["pending"]))
    context.journal.phase(number, "diagnose", lambda row: _diagnose(context, row, number), announce=True)
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


def _diagnose(context: Context, row: RunRow, number: int) -> Done:
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
    five = (one.goal, one.observed, one.action, one.feedback, one.improvement)
    return ExperienceRow(one.family, *five, one.content_hash, number, born)


def _results(families: tuple[str, ...], items: tuple[Item, ...], answers: Answers) -> dict[str, tuple[int, int]]:
    counts = dict.fromkeys(families, (0, 0))
    for item, outcome in zip(items, answers.outcomes, strict=True):
        if outcome is not None:
            right, n = counts[item.family]
            counts[item.family] = (right + outcome, n + 1)
    return counts


def _propose(context: Context, row: RunRow, number: int, opened: Json) -> Done:
    briefing = _briefing(context, row, number, cast(list[str], opened["steers"]))
    proposals = list(context.operator.propose(briefing))[: cast(int, context.row.protocol["candidates_per_round"])]
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
        diagnosed = phases.get(tx, context.run, number, "diagnose", "") or {}
        failures = _failures(tx, context, number)
        standing = [directive.text for directive in directives.listing(tx, context.run)]
    families = {
        family: FamilyResult(right, n)
        for family, (right, n) in cast(dict[str, tuple[int, int]], diagnosed["families"]).items()
    }
    return Briefing(
        run=context.run,
        brief=row.brief,
        round=number,
        families=families,
        failures=failures,
        tried=memory.tried(context, lines.moved),
        defaults=context.trainer.defaults(base=False),
        max_rows_per_family=context.limits.max_rows_per_family,
        directives=standing,
        steers=delivered,
        spend=_Purse(context, number).spend,
        head_plan=plan_of(lines.head.plan) if lines.head.plan else None,
    )


def _failures(tx: Connection, context: Context, number: int) -> list[Experience]:
    found = experiences.recent(tx, context.run, number, FAILURES * len(context.domain.families()))
    return [Experience(one.family, one.goal, one.observed, one.action, one.feedback, one.improvement) for one in found]


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
        first = candidates.of_round(tx, context.run, number)
    spend: Json = {name: round(cast(float, total[name]) - cast(float, before[name]), 6) for name in total}
    proposal = first[0].proposal if first else {}

    def write(tx: Connection) -> None:
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
    return Done({"decision": decision, "version": version}, [event], write)
