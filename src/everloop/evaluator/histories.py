"""Verdicts from the record: a run's candidates are gone through in order, with the head each was proposed against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from everloop.errors import InvalidRequest
from everloop.evaluator.base import Candidate, Verdict
from everloop.events import Json
from everloop.operators.base import Plan
from everloop.operators.plans import plan_of
from everloop.store.candidates import REFUSED
from everloop.store.verdicts import History, VerdictRow

NOT_MEASURED = "failures:"
"""Start of a reason that says only that answers were missing: a failed evaluation is no verdict on the change."""
REMEMBERED = 200
"""Newest refused plans that a candidate is compared with, as in a run."""


@dataclass(slots=True)
class _Line:
    """Where a run stood when its next candidate was proposed."""

    history: History
    head: Plan | None
    certified: Plan | None
    moved: int = 0
    certified_round: int = 0
    refused: list[tuple[int, Plan]] = field(default_factory=list)
    waiting: list[Verdict] = field(default_factory=list)
    newest: str = ""
    seen: dict[str, Verdict] = field(default_factory=dict)

    def candidate(self, row: VerdictRow) -> Candidate:
        tried = [plan for number, plan in reversed(self.refused) if number >= self.moved]
        return Candidate(row.proposal, self.head, tuple(tried[:REMEMBERED]))

    def keep(self, verdict: Verdict, row: VerdictRow, plan: Plan) -> None:
        self.waiting.append(verdict)
        self.head, self.moved, self.newest = plan, row.round, row.candidate

    def settle(self, *, good: bool) -> Iterator[Verdict]:
        """The line was certified or went back: what waited in it shares its fate."""
        for verdict in self.waiting:
            yield replace(verdict, good=good)
        self.waiting.clear()
        self.newest = ""
        if good:
            self.certified, self.certified_round = self.head, self.moved
        else:
            self.head, self.moved = self.certified, self.certified_round

    def close(self) -> Iterator[Verdict]:
        """What the certification of the newest kept candidate said, if there was one after it was kept."""
        shown = self.history.certifications.get(self.newest)
        if shown is not None:
            yield from self.settle(good=shown)


def verdicts(history: History, said: Mapping[str, bool] | None = None) -> list[Verdict]:
    """The verdicts of a run, in the order in which they fell.

    Good: certified, or kept and not reverted later. Bad: rejected, reverted, or kept in a line that was reverted. No
    verdict: an error, a candidate that is undecided or was refused only because answers were missing, a candidate
    kept in a run that goes on. A candidate whose plan is of a kind that is not known any more is left out. What people
    said (`said`: candidate -> good) takes the place of a verdict, and is one where there was none.
    """
    base = _plan(history.base_plan)
    line = _Line(history, base, base)
    found: list[Verdict] = []
    for row in history.candidates:
        plan = _plan(cast(Json, row.proposal.get("plan")))
        if plan is not None:
            found += _judge(line, row, plan)
    found += line.close()
    if history.ended:
        found += line.settle(good=True)
    labelled = {name: good for name, good in (said or {}).items() if name in line.seen}
    found = [one for one in found if one.name not in labelled]
    return found + [replace(line.seen[name], good=good, human=True) for name, good in labelled.items()]


def _judge(line: _Line, row: VerdictRow, plan: Plan) -> Iterator[Verdict]:
    made = Verdict(line.candidate(row), row.decision == "certified", line.history.run, row.at, row.candidate)
    line.seen[row.candidate] = made
    if row.decision in {"kept", "certified", "reverted"}:
        yield from line.close()
        line.keep(made, row, plan)
        if row.decision != "kept":
            yield from line.settle(good=row.decision == "certified")
    elif row.decision == "rejected" and not (row.reasons and all(map(_unmeasured, row.reasons))):
        yield made
    if row.decision in REFUSED:
        line.refused.append((row.round, plan))


def _unmeasured(reason: str) -> bool:
    return reason.startswith(NOT_MEASURED)


def _plan(document: Json | None) -> Plan | None:
    try:
        return plan_of(document) if document else None
    except (InvalidRequest, KeyError, TypeError, ValueError):  # recorded by a version whose plans were others
        return None
