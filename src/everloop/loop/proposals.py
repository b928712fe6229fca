"""Proposals to and from the JSON that the store holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from everloop.events import Json
from everloop.operators.base import Intervention, Proposal, Rationale, Tried
from everloop.operators.plans import plan_of
from everloop.store.candidates import TriedRow
from everloop.values import built


def proposal_json(proposal: Proposal) -> Json:
    """``{"plan", "diff", "rationale", "interventions"}``."""
    return {
        "plan": proposal.plan.to_json(),
        "diff": proposal.diff,
        "rationale": cast(Json, asdict(proposal.rationale)),
        "interventions": [cast(Json, asdict(one)) for one in proposal.interventions],
    }


def proposal_of(document: Json) -> Proposal:
    """The inverse of `proposal_json`."""
    return Proposal(
        plan_of(cast(Json, document["plan"])),
        str(document["diff"]),
        built(Rationale, cast(Json, document["rationale"])),
        tuple(built(Intervention, one) for one in cast(list[Json], document["interventions"])),
    )


def tried_of(row: TriedRow) -> Tried:
    """A refused candidate as its operator remembers it."""
    return Tried(plan_of(row.plan), row.decision, row.reasons[0] if row.reasons else "")
