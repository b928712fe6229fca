"""Routes of trials, as some clients call train jobs: ``/trials...``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import FileResponse, JSONResponse

from everloop.api.described import file, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.signed import Signed
from everloop.service import trials

router = APIRouter(prefix="/trials", tags=["trials"])

Trial = Annotated[str, Path(description="Id of a trial: `trial_` and what follows `job_` in its job's id.")]
"""Path parameter: a trial's id."""


@router.get("", responses=reply("Trials") | refusals(422))
def list_trials(
    place: Place,
    caller: Signed,
    type: Annotated[str | None, Query(description="Trials of this type; there are `train` trials only.")] = None,  # noqa: A002
    job_id: Annotated[str | None, Query(description="Only of this train job.")] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the trials of your project, newest first; each train job is one."""
    return JSONResponse(
        trials.listing(place, caller, type=type, job_id=job_id, limit=number(limit), cursor=cursor).to_json()
    )


@router.get("/{trial_id}", responses=reply("Trial") | refusals(404))
def get_trial(place: Place, caller: Signed, trial_id: Trial) -> JSONResponse:
    """A trial: its job, how it stands."""
    return JSONResponse(trials.get(place, trial_id, caller))


@router.get("/{trial_id}/result", responses=reply("TrialResult") | refusals(404))
def get_trial_result(place: Place, caller: Signed, trial_id: Trial) -> JSONResponse:
    """The same with how it ended and what it left."""
    return JSONResponse(trials.result(place, trial_id, caller))


@router.get("/{trial_id}/snapshot", responses=reply("TrialSnapshot") | refusals(404))
def get_trial_snapshot(place: Place, caller: Signed, trial_id: Trial) -> JSONResponse:
    """What was asked for; nothing of it changes after the submission."""
    return JSONResponse(trials.snapshot(place, trial_id, caller))


@router.get("/{trial_id}/artifacts", responses=reply("TrialArtifacts") | refusals(404, 422))
def list_trial_artifacts(
    place: Place, caller: Signed, trial_id: Trial, limit: Limit = None, cursor: Cursor = None
) -> JSONResponse:
    """List the files that a trial left."""
    return JSONResponse(trials.artifacts(place, trial_id, caller, limit=number(limit), cursor=cursor).to_json())


@router.get(
    "/{trial_id}/artifacts/{artifact_id}/content", response_class=FileResponse, responses=file() | refusals(404)
)
def get_trial_artifact(
    place: Place, caller: Signed, trial_id: Trial, artifact_id: Annotated[str, Path(description="Id of a file.")]
) -> FileResponse:
    """The content of a file that a trial left."""
    found = trials.artifact_path(place, trial_id, artifact_id, caller)
    return FileResponse(found, media_type="application/octet-stream", filename=found.name)


@router.post("/{trial_id}/stop", responses=reply("Trial") | refusals(403, 404, 409))
def stop_trial(place: Place, caller: Signed, trial_id: Trial) -> JSONResponse:
    """Stop the trial's job."""
    return JSONResponse(trials.stop(place, trial_id, caller))
