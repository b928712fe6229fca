"""Routes of checkpoints: list, download, delete. Include them before those of jobs, whose ids they would be."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import FileResponse, JSONResponse

from everloop import address
from everloop.api.described import file, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.signed import Signed
from everloop.service import administration, checkpoints

router = APIRouter(tags=["checkpoints"])

JobName = Annotated[str | None, Query(description="Only of this train job.")]
"""Query parameter: a job's id."""
RunName = Annotated[str | None, Query(description="Only of jobs with this label `rsi_run`.")]
"""Query parameter: a run's id."""


@router.get("/job/checkpoints", responses=reply("Checkpoints") | refusals(422))
def list_checkpoints(
    place: Place,
    caller: Signed,
    train_job_id: JobName = None,
    job_id: JobName = None,
    run_id: RunName = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the checkpoints of your project with their files, newest first."""
    found = checkpoints.listing(
        place, caller, train_job_id=train_job_id, job_id=job_id, run_id=run_id, limit=number(limit), cursor=cursor
    )
    return JSONResponse(found.to_json())


@router.get("/job/checkpoints/download", responses=reply("Download") | refusals(404))
def download_checkpoint(
    request: Request,
    place: Place,
    caller: Signed,
    path: Annotated[str, Query(description="Id of a checkpoint, or its `envloop://JOB/CHECKPOINT`.")] = "",
    job_id: JobName = None,
    run_id: RunName = None,
) -> JSONResponse:
    """An address for each file of a checkpoint, good for ten minutes and without a key."""
    base = address.public_url(place.settings) if place.settings.public_url else str(request.base_url)
    return JSONResponse(checkpoints.download(place, caller, base, path=path, job_id=job_id, run_id=run_id))


@router.get(
    "/job/checkpoints/content/{token}",
    response_class=FileResponse,
    responses=file() | refusals(403, 404, always=(503,)),
)
def get_checkpoint_content(
    place: Place, token: Annotated[str, Path(description="What stands in an address of a download.")]
) -> FileResponse:
    """A file of a checkpoint, for whoever holds the address."""
    found = checkpoints.content(place, token)
    return FileResponse(found, media_type="application/octet-stream", filename=found.name)


@router.delete("/job/checkpoints/{checkpoint_id}", responses=reply("Operation") | refusals(403, 404, 409))
def delete_checkpoint(
    place: Place, caller: Signed, checkpoint_id: Annotated[str, Path(description="Id of a checkpoint.")]
) -> JSONResponse:
    """Delete a checkpoint that a submitted job left; again is no error. A run's own is kept."""
    return JSONResponse(checkpoints.delete(place, checkpoint_id, caller))


@router.get("/projects/{project_id}/operations/{operation_id}", responses=reply("Operation") | refusals(404))
def get_operation(
    place: Place,
    caller: Signed,
    project_id: Annotated[str, Path(description="Id of your project.")],
    operation_id: Annotated[str, Path(description="Id of a deletion.")],
) -> JSONResponse:
    """How a deletion went; it is done when it is answered."""
    return JSONResponse(administration.operation(place, project_id, operation_id, caller))
