"""Routes of train jobs: ``/job...``; each calls one use case and returns its document."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import WithJsonSchema
from starlette.responses import JSONResponse

from everloop.api import documents_jobs
from everloop.api.bodies import JOB_VALUES, json_body
from everloop.api.described import body, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.signed import Signed, needing
from everloop.errors import InvalidTrainJobSpec
from everloop.events import JsonValue
from everloop.service import job_log, jobs, training_models
from everloop.service.permissions import Permission
from everloop.store.jobs import STATUSES

router = APIRouter(tags=["jobs"])

Job = Annotated[str, Path(description="Id of a train job.", examples=["job_01KEXAMPLE0000000000000000"])]
"""Path parameter: a job's id."""
_OF_LINES = WithJsonSchema({"type": "integer", "minimum": 1, "maximum": job_log.MOST})
Tail = Annotated[str | None, Query(description="Begin so many lines before the end."), _OF_LINES]
"""Query parameter: how much of the end."""
Lines = Annotated[str | None, Query(description=f"Lines of a page; {job_log.DEFAULT} without it."), _OF_LINES]
"""Query parameter: lines of a page."""
_SUBMITS = needing(Permission.READ, Permission.RUN)
JobBody = Annotated[JsonValue, Depends(json_body(InvalidTrainJobSpec, before=_SUBMITS, values=JOB_VALUES))]
"""Parameter type: the parsed body of a train job, read from who may submit one."""
_STATUSES = {"enum": [*STATUSES]}
_SOURCES = {"enum": [*job_log.SOURCES]}


@router.get("/job", responses=reply("Jobs") | refusals(422))
def list_jobs(
    place: Place,
    caller: Signed,
    type: Annotated[str | None, Query(description="Jobs of this type; there are `train` jobs only.")] = None,  # noqa: A002
    status: Annotated[str | None, Query(description="Jobs that stand so.", json_schema_extra=_STATUSES)] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the train jobs of your project, its runs' own included, newest first."""
    found = jobs.listing(place, caller, type=type, status=status, limit=number(limit), cursor=cursor)
    return JSONResponse(found.to_json())


@router.post(
    "/job",
    responses=reply("Job", 201) | refusals(403, 409, 413, 422, 507),
    openapi_extra=body(documents_jobs.SUBMISSION, documents_jobs.SUBMITTED),
)
def submit_job(place: Place, caller: Signed, document: JobBody) -> JSONResponse:
    """Submit a train job; a worker carries it out. The same `request_id` with the same request is the same job."""
    return JSONResponse(jobs.submit(place, document, caller), 201)


@router.get("/job/training-models", responses=reply("TrainingModels") | refusals())
def list_training_models(place: Place, caller: Signed) -> JSONResponse:
    """What a train job may train, with the settings that it gets when it names none."""
    return JSONResponse(training_models.listing(place, caller).to_json())


@router.get("/job/{job_id}", responses=reply("Job") | refusals(404))
def get_job(place: Place, caller: Signed, job_id: Job) -> JSONResponse:
    """A train job: what was asked for, how it stands, what it left."""
    return JSONResponse(jobs.get(place, job_id, caller))


@router.get("/job/{job_id}/result", responses=reply("JobResult") | refusals(404))
def get_job_result(place: Place, caller: Signed, job_id: Job) -> JSONResponse:
    """The same with how it ended; `result` is null while it is at work."""
    return JSONResponse(jobs.result(place, job_id, caller))


@router.get("/job/{job_id}/logs", responses=reply("JobLog") | refusals(404, 422))
def get_job_logs(
    place: Place,
    caller: Signed,
    job_id: Job,
    source: Annotated[str | None, Query(description="Lines of this source.", json_schema_extra=_SOURCES)] = None,
    tail: Tail = None,
    limit: Lines = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """A page of the job's log; go on by its cursor until `eof`. `tail` and `cursor` exclude each other."""
    return JSONResponse(
        jobs.logs(place, job_id, caller, source=source, tail=number(tail), limit=number(limit), cursor=cursor)
    )


@router.post("/job/{job_id}/stop", responses=reply("Job") | refusals(403, 404, 409))
def stop_job(place: Place, caller: Signed, job_id: Job) -> JSONResponse:
    """Stop a submitted job; an ended one stays as it is. A run's own job is stopped with its run."""
    return JSONResponse(jobs.stop(place, job_id, caller))
