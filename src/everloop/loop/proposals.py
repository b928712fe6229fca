"""Proposals to and from the JSON that the store holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from everloop.events import Json
from everloop.operators.base import Intervention, Plan, Proposal, Rationale, Tried
from everloop.store.candidates import CandidateRow
from everloop.students.base import TrainSettings


def proposal_json(proposal: Proposal) -> Json:
    """``{"plan", "diff", "rationale", "interventions"}``."""
    return {
        "plan": proposal.plan.to_json(),
        "diff": proposal.diff,
        "rationale": cast(Json, asdict(proposal.rationale)),
        "interventions": [cast(Json, asdict(one)) for one in proposal.interventions],
    }


def plan_of(document: Json) -> Plan:
    """The inverse of `Plan.to_json`."""
    fields = dict(document)
    fields["families"] = tuple(cast(list[str], fields["families"]))
    fields["settings"] = TrainSettings(**cast(Json, fields["settings"]))
    return Plan(**fields)


def proposal_of(document: Json) -> Proposal:
    """The inverse of `proposal_json`."""
    return Proposal(
        plan_of(cast(Json, document["plan"])),
        str(document["diff"]),
        Rationale(**cast(Json, document["rationale"])),
        tuple(Intervention(**one) for one in cast(list[Json], document["interventions"])),
    )


def tried_of(row: CandidateRow) -> Tried:
    """A stored candidate as its operator remembers it."""
    plan = plan_of(cast(Json, cast(Json, row.proposal)["plan"]))
    return Tried(plan, str(row.decision), row.reasons[0] if row.reasons else "")
