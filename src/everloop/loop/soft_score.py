"""The soft score in a run: it orders an operator's candidates, is shown beside the rules, and raises the drift alarm.

It accepts and refuses nothing: of several candidates it picks the one that is built. Without a calibration in force
nothing of it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import Connection

from everloop.evaluator import Candidate, Evaluator, RoundOutcome, SoftScore, drift, load
from everloop.events import Event, EventKind, Json
from everloop.loop.context import Context
from everloop.loop.proposals import proposal_json
from everloop.operators.base import Plan, Proposal, Review, Tried
from everloop.store import candidates, phases, reviews
from everloop.store.candidates import CandidateRow

KIND = "soft-score"
"""Kind of its reviews; they always pass."""
LOOKED_AT = 48
"""Newest rounds that the drift alarm looks at."""


def evaluator(context: Context) -> Evaluator:
    """The evaluator in force."""
    with context.means.database.read() as tx:
        return load(tx)


def ordered(
    context: Context, proposals: Sequence[Proposal], head: Plan | None, tried: Sequence[Tried]
) -> list[Proposal]:
    """An operator's proposals, best first by soft score; in its own order where the evaluator abstains."""
    if len(proposals) < 2:
        return list(proposals)
    refused = tuple(one.plan for one in tried)
    order = evaluator(context).rank([Candidate(proposal_json(one), head, refused) for one in proposals])
    return [proposals[place] for place in order]


def score(context: Context, proposal: Json, head: Plan | None, tried: Sequence[Tried]) -> SoftScore | None:
    """The score of one proposal; None where the evaluator abstains."""
    found = evaluator(context).score(Candidate(proposal, head, tuple(one.plan for one in tried)))
    return None if found.value is None else found


def review(found: SoftScore) -> Review:
    """The score as a review beside the others."""
    auc = "not measured" if found.auc is None else f"{found.auc:.2f}"
    penalty = f", {found.raw:.2f} before the penalty for similarity" if found.raw and found.penalty < 1 else ""
    behind = f"n={found.n} verdicts, held-out AUC {auc}"
    return Review(KIND, True, f"{found.value:.2f}{penalty} ({behind}); it accepts and refuses nothing")


def alarm(tx: Connection, run: str, number: int) -> Event | None:
    """The drift alarm after a round, if it is due."""
    if not _scored(tx, run, number):
        return None
    first = max(1, number - LOOKED_AT + 1)
    scored = _scored(tx, run, first)
    told = drift(_outcomes(tx, run, range(first, number + 1), scored))
    return Event(EventKind.MESSAGE, told, number, "summarise", "auditor", KIND, {"alarm": "drift"}) if told else None


def _scored(tx: Connection, run: str, first: int) -> dict[str, float]:
    """Candidate -> soft score, from round `first` on."""
    return {
        candidate: float(cast(float, cast(Json, result["soft"])["value"]))
        for candidate, result in phases.results(tx, run, "screen", first)
        if result.get("soft")
    }


def _outcomes(tx: Connection, run: str, numbers: range, scored: dict[str, float]) -> list[RoundOutcome]:
    made = candidates.of_rounds(tx, run, list(numbers))
    found = reviews.of_candidates(tx, run, [one.candidate for one in made])
    passed: dict[str, list[bool]] = {}
    for one in found:
        if one.kind != KIND:
            passed.setdefault(one.candidate, []).append(one.passed)
    return [_outcome(one, scored.get(one.candidate), passed.get(one.candidate, [])) for one in made]


def _outcome(made: CandidateRow, value: float | None, audits: Sequence[bool]) -> RoundOutcome:
    accepted = made.decision in {"kept", "certified", "reverted"}
    return RoundOutcome(
        made.round,
        value if accepted else None,
        _gain(made),
        made.decision == "certified",
        sum(audits),
        len(audits) - sum(audits),
    )


def _gain(made: CandidateRow) -> float | None:
    """Net share of wins on certification pairs; a screen's estimate is above 0 by selection and says nothing here."""
    if made.certification is None:
        return None
    wins, losses, pairs = (cast(int, made.certification[name]) for name in ("wins", "losses", "pairs"))
    return (wins - losses) / pairs if pairs else None
