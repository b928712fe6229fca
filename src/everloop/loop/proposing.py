"""Proposing: the operator's turn in a round, from its briefing to the candidates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from sqlalchemy import Connection

from everloop.errors import EverloopError
from everloop.events import Event, EventKind, Json
from everloop.ledger import reservations
from everloop.loop import diagnosis, memory, soft_score
from everloop.loop.context import Context, lines_of
from everloop.loop.desk import LoopDesk
from everloop.loop.journal import Done
from everloop.loop.kinds import kind_of
from everloop.loop.proposals import proposal_json, proposal_of
from everloop.operators.base import Briefing, Proposal, RoundSummary
from everloop.operators.plans import plan_of
from everloop.store import candidates, directives, rounds, steers
from everloop.store.runs import RunRow
from everloop.students.base import TrainSettings


def propose(context: Context, row: RunRow, number: int, opened: Json) -> Done:
    """Ask the operator; the best of what it proposes become candidates, the rest is told."""
    desk = LoopDesk(context, number, "propose")
    briefing = _briefing(context, row, number, opened, desk)
    proposed, told = _readable(context.operator.propose(briefing), number)
    made = soft_score.ordered(context, proposed, briefing.head_plan, briefing.tried)
    proposals, rest = made[: briefing.candidates], made[briefing.candidates :]
    unheard = desk.unheard()
    names = [f"r{number}c{place}" for place in range(1, len(proposals) + 1)]

    def write(tx: Connection) -> None:
        steers.requeue(tx, context.run, unheard)
        for name, proposal in zip(names, proposals, strict=True):
            document = proposal_json(proposal)
            candidates.put(
                tx, context.run, name, round=number, proposal=document, fingerprint=proposal.plan.fingerprint()
            )

    told += [_proposed(number, name, proposal) for name, proposal in zip(names, proposals, strict=True)]
    told += [_left_out(number, proposal) for proposal in rest]
    told += [_queued_again(number, steer) for steer in unheard]
    if not names:
        told.append(Event(EventKind.MESSAGE, "the operator has no idea left", number, "propose", "operator"))
    return Done({"candidates": list(names)}, told, write)


def _readable(proposals: Sequence[Proposal], number: int) -> tuple[list[Proposal], list[Event]]:
    """Proposals that can be stored and read again; what can't (a plug-in's mistake) is told with its reason."""
    kept: list[Proposal] = []
    told: list[Event] = []
    for proposal in proposals:
        try:
            proposal_of(json.loads(json.dumps(proposal_json(proposal), allow_nan=False)))
            kept.append(proposal)
        except (EverloopError, ValueError, TypeError, KeyError, AttributeError) as error:
            why = f"a proposal was left out, it cannot be read: {type(error).__name__}: {error}"
            told.append(Event(EventKind.ERROR, why[:500], number, "propose", "operator"))
    return kept, told


def _proposed(number: int, name: str, proposal: Proposal) -> Event:
    data: Json = {"candidate": name, "plan": proposal.plan.to_json()}
    return Event(EventKind.MESSAGE, f"{name}: {proposal.rationale.what}", number, "propose", "operator", data=data)


def _left_out(number: int, proposal: Proposal) -> Event:
    data: Json = {"plan": proposal.plan.to_json()}
    text = f"proposed and not built: {proposal.rationale.what}"
    return Event(EventKind.MESSAGE, text, number, "propose", "operator", data=data)


def _queued_again(number: int, steer: int) -> Event:
    text = "steer queued again: the conversation it was given to was broken off"
    data: Json = {"steer": steer, "status": "queued"}
    return Event(EventKind.STEER, text, number, "propose", "operator", data=data)


def _briefing(context: Context, row: RunRow, number: int, opened: Json, desk: LoopDesk) -> Briefing:
    lines = lines_of(row)
    with context.means.database.read() as tx:
        families = diagnosis.read(tx, context.run, number)
        failures = diagnosis.failures(tx, context, number)
        every = [directive.text for directive in directives.listing(tx, context.run)]
    return Briefing(
        run=context.run,
        brief=row.brief,
        round=number,
        families=families,
        failures=failures,
        tried=memory.tried(context, lines.moved),
        defaults=TrainSettings() if context.dry else context.trainer.defaults(base=False),
        max_rows_per_family=context.limits.max_rows_per_family,
        directives=every[: cast(int, opened["directives"])],
        steers=cast(list[str], opened["steers"]),
        spend=_Purse(context, number).spend,
        subject=kind_of(context).subject,
        history=lambda before, limit: _history(context, before, limit),
        desk=desk,
        candidates=cast(int, context.row.protocol["candidates_per_round"]),
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
