"""Routes of runs: ``/agent-runs/rsi/...``; each calls one use case and returns its document."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import JSONResponse, Response

from everloop.api import examples_bodies, fresh, schemas
from everloop.api.bodies import json_body
from everloop.api.described import body, refusals, reply
from everloop.api.numbers import Limit, Round, Since
from everloop.api.numbers import number as as_number
from everloop.api.place import Place
from everloop.api.signed import Signed, needing
from everloop.errors import InvalidDirective, InvalidRequest, InvalidSteer
from everloop.events import JsonValue
from everloop.service import history, run_control, run_messages, run_start, runs
from everloop.service.caller import Caller
from everloop.service.permissions import Permission

router = APIRouter(prefix="/agent-runs/rsi", tags=["runs"])

Run = Annotated[str, Path(description="Id of a run.", examples=["arith-carry-1"])]
"""Path parameter: a run's id."""

_STARTS = needing(Permission.READ, Permission.RUN)


def _seen(place: Place, caller: Signed, run: Run) -> str:
    """The run's mark. What the caller does not see is 404, whatever else is wrong with the request."""
    return runs.mark(place, run, caller)


def _changes(place: Place, caller: Annotated[Caller, Depends(_STARTS)], run: Run) -> None:
    runs.mark(place, run, caller)


def _controls(place: Place, caller: Annotated[Caller, Depends(_STARTS)], run: Run) -> None:
    # without the permission to stop, the body says whether it is needed, and permissions stand before runs
    if caller.may(Permission.STOP):
        runs.mark(place, run, caller)


Mark = Annotated[str, Depends(_seen)]
"""Parameter type: a text that differs after every change of the run of the path."""
StartBody = Annotated[JsonValue, Depends(json_body(InvalidRequest, before=_STARTS))]
"""Parameter type: the parsed body of a start, read from who may start a run."""
SteerBody = Annotated[JsonValue, Depends(json_body(InvalidSteer, before=_changes))]
"""Parameter type: the parsed body of a steer, read from who may steer the run."""
DirectiveBody = Annotated[JsonValue, Depends(json_body(InvalidDirective, before=_changes))]
"""Parameter type: the parsed body of a directive, read from who may direct the run."""
ControlBody = Annotated[JsonValue, Depends(json_body(InvalidRequest, before=_controls))]
"""Parameter type: the parsed body of a control, read from who may change the run; a stop needs one permission more."""


@router.get("/runs", responses=reply("Runs") | refusals(422))
def list_runs(
    place: Place,
    caller: Signed,
    limit: Limit = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> JSONResponse:
    """List the runs of your project, newest update first."""
    found = runs.pages(place, limit=as_number(limit), cursor=cursor, caller=caller)
    hint = {} if found.items or cursor else {"start": runs.START}
    return JSONResponse(found.to_json() | hint)


@router.post(
    "/runs",
    responses=reply("RunDetail", 201) | refusals(403, 409, 413, 422),
    openapi_extra=body(schemas.START, examples_bodies.START),
)
def start_run(place: Place, caller: Signed, document: StartBody) -> JSONResponse:
    """Start a run; it begins paid work, up to its caps."""
    return JSONResponse(run_start.start_document(place, document, caller), 201)


@router.get("/runs/{run}", responses=reply("Run", 200, 304) | refusals(404, 422))
def get_run(
    request: Request,
    place: Place,
    caller: Signed,
    run: Run,
    mark: Mark,
    compact: Annotated[bool, Query(description="Only the summary row.")] = False,
) -> Response:
    """Everything there is to know of a run: protocol, versions, scores, gates, reviews, rounds, directives."""
    return fresh.answer(request, mark, lambda: runs.document(place, run, compact=compact, caller=caller))


@router.get("/runs/{run}/rounds/{number}", responses=reply("Round") | refusals(404, 409, 422))
def get_round(place: Place, caller: Signed, run: Run, number: Round) -> JSONResponse:
    """One round: decision, plan, interventions, candidates, reviews, summary."""
    return JSONResponse(runs.round(place, run, as_number(number), caller))


@router.get("/runs/{run}/history", responses=reply("History", 200, 304) | refusals(404, 409))
def get_history(request: Request, place: Place, caller: Signed, run: Run, mark: Mark) -> Response:
    """What pictures of a run are drawn from: money and time of its rounds and phases, looks of its comparison."""
    return fresh.answer(request, mark, lambda: history.of(place, run, caller))


@router.get("/runs/{run}/live", responses=reply("Live", 200, 304) | refusals(404, 422))
def get_live(request: Request, place: Place, caller: Signed, run: Run, since: Since = None) -> Response:
    """What the run does right now, with at most 200 events after `since`, oldest first."""
    mark = runs.mark(place, run, caller)
    return fresh.answer(request, mark, lambda: runs.live(place, run, as_number(since), caller))


@router.post(
    "/runs/{run}/steer",
    responses=reply("Steer", 202) | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(schemas.STEER, examples_bodies.TEXT),
)
def steer(place: Place, caller: Signed, run: Run, document: SteerBody) -> JSONResponse:
    """Send one message to the running operator; it is delivered at the next turn boundary."""
    return JSONResponse(run_messages.steer_document(place, run, document, caller), 202)


@router.post(
    "/runs/{run}/directives",
    responses=reply("Directive", 201) | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(schemas.DIRECTIVE, examples_bodies.TEXT),
)
def add_directive(place: Place, caller: Signed, run: Run, document: DirectiveBody) -> JSONResponse:
    """Append a standing instruction to the run."""
    return JSONResponse(run_messages.directive_document(place, run, document, caller), 201)


@router.post(
    "/runs/{run}/control",
    responses=reply("Control") | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(schemas.CONTROL_EXACTLY, examples_bodies.CONTROL),
)
def control(place: Place, caller: Signed, run: Run, document: ControlBody) -> JSONResponse:
    """Extend, stop or resume a run; extend and resume begin paid work."""
    return JSONResponse(run_control.control_document(place, run, document, caller))
