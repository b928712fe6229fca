"""Routes of approvals and of the weekly sample of rejected candidates: what people have the last word on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import JSONResponse

from everloop.api import documents_approvals
from everloop.api.bodies import json_body
from everloop.api.described import body, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.routes_runs import Run
from everloop.api.signed import Signed, needing
from everloop.errors import InvalidRequest
from everloop.events import JsonValue
from everloop.service import approvals, sample_verdict, samples
from everloop.service.permissions import Permission
from everloop.store.approvals import STATES

router = APIRouter(tags=["approvals"])

Approval = Annotated[str, Path(description="Id of an approval.", examples=["apr-0123456789abcdef0123"])]
"""Path parameter: an approval's id."""
Candidate = Annotated[str, Path(description="Name of a candidate.", examples=["r2c1"])]
"""Path parameter: a candidate's name."""
DecisionBody = Annotated[JsonValue, Depends(json_body(InvalidRequest, before=needing(Permission.APPROVE)))]
"""Parameter type: the parsed body of a decision or a verdict, read from who may give one."""
_STATES = {"enum": [*STATES]}


@router.get("/approvals", responses=reply("Approvals") | refusals(422))
def list_approvals(
    place: Place,
    caller: Signed,
    state: Annotated[str | None, Query(description="Only those.", json_schema_extra=_STATES)] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the approvals of your project, newest first: certifications that wait for a person, and decided ones."""
    return JSONResponse(approvals.listing(place, caller, state=state, limit=number(limit), cursor=cursor).to_json())


@router.get("/approvals/{approval_id}", responses=reply("Approval") | refusals(404))
def get_approval(place: Place, caller: Signed, approval_id: Approval) -> JSONResponse:
    """An approval with the figures that a decision can rest on."""
    return JSONResponse(approvals.get(place, approval_id, caller))


@router.post(
    "/approvals/{approval_id}/decision",
    responses=reply("Approval") | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(documents_approvals.DECISION, {"decision": "reject", "reason": "The gain is in one family."}),
)
def decide_approval(place: Place, caller: Signed, approval_id: Approval, document: DecisionBody) -> JSONResponse:
    """Approve or reject, once; the run that waits for it goes on by itself."""
    return JSONResponse(approvals.decide_document(place, approval_id, document, caller))


@router.get("/samples", responses=reply("Sample") | refusals(422))
def get_sample(
    place: Place,
    caller: Signed,
    week: Annotated[str | None, Query(description="ISO week such as 2026-W48; the last full one without it.")] = None,
) -> JSONResponse:
    """The week's sample of rejected candidates: at most 20, the same for whoever asks."""
    return JSONResponse(samples.listing(place, caller, week))


@router.post(
    "/samples/{run}/{candidate}/verdict",
    responses=reply("HumanVerdict", 201) | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(documents_approvals.VERDICT, {"good": False, "reason": "It repeats the rule it breaks."}),
)
def judge_sample(place: Place, caller: Signed, run: Run, candidate: Candidate, document: DecisionBody) -> JSONResponse:
    """Say of a rejected candidate whether it was worth keeping; of two verdicts on one the later counts."""
    return JSONResponse(sample_verdict.judge(place, run, candidate, document, caller), 201)
