"""Trials, as clients know them: each train job is one, with what it was asked, how it went and the files it left."""

from __future__ import annotations

from pathlib import Path

from everloop.errors import JobNotFound, NotFound
from everloop.events import Json, JsonValue
from everloop.service import checkpoints, jobs
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.job_document import TYPE, require
from everloop.service.pages import Page, checked_limit, place_of
from everloop.service.permissions import Permission

NAME = "trial-1"
"""Name of the one trial of a job."""
_STATUS = {"completed": "succeeded", "stopping": "running"}
"""A trial's word where it differs from the job's."""


def listing(
    installation: Installation,
    caller: Caller = LOCAL,
    *,
    type: str | None = None,  # noqa: A002 - the wire's word
    job_id: str | None = None,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the trials of the caller's project, newest first; of one job if named."""
    if job_id is None:
        shown = jobs.listing(installation, caller, type=type, limit=limit, cursor=cursor)
        return Page([_trial(one) for one in shown.items], shown.next_cursor)
    caller.require(Permission.READ)
    checked_limit(limit)
    place_of(cursor, 2)
    try:
        return Page([_trial(jobs.get(installation, job_id, caller))] if type in {None, TYPE} else [], None)
    except JobNotFound:
        return Page([], None)


def get(installation: Installation, trial_id: str, caller: Caller = LOCAL) -> Json:
    """The trial. NotFound for one of another project as for an unknown one."""
    return _trial(jobs.get(installation, _job(trial_id), caller))


def result(installation: Installation, trial_id: str, caller: Caller = LOCAL) -> Json:
    """How it ended and what it left."""
    document = jobs.result(installation, _job(trial_id), caller)
    return _trial(document) | {"result": document["result"]}


def snapshot(installation: Installation, trial_id: str, caller: Caller = LOCAL) -> Json:
    """What was asked for, frozen: nothing of it changes after the submission."""
    document = jobs.get(installation, _job(trial_id), caller)
    training = document["training"]
    asked = ("base_model", "method", "settings", "rows", "rows_sha256", "seed", "parent", "labels")
    frozen: Json = {name: training[name] for name in asked if name in training} if isinstance(training, dict) else {}
    return {"trial_id": trial_id, "job_id": document["job_id"], "type": TYPE, "spec": frozen}


def stop(installation: Installation, trial_id: str, caller: Caller = LOCAL) -> Json:
    """Stop its job."""
    return _trial(jobs.stop(installation, _job(trial_id), caller))


def artifacts(
    installation: Installation,
    trial_id: str,
    caller: Caller = LOCAL,
    *,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """The files it left: all on one page, since a checkpoint has two."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = require(tx, _job(trial_id), caller)
    checked_limit(limit)
    place_of(cursor, 1)
    return Page([_artifact(one) for one in checkpoints.files(installation, row)], None)


def artifact_path(installation: Installation, trial_id: str, artifact_id: str, caller: Caller = LOCAL) -> Path:
    """Where an artifact's content lies. NotFound for a name that `artifacts` does not tell."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = require(tx, _job(trial_id), caller)
    if artifact_id not in {one["name"] for one in checkpoints.files(installation, row)}:
        raise NotFound(f"artifact {artifact_id:.64} is not known", then="List the artifacts there are")
    return checkpoints.plain_file(installation, row, artifact_id)


def _job(trial_id: str) -> str:
    """The job of a trial; a text that names no trial names no job either."""
    return "job_" + trial_id.removeprefix("trial_") if trial_id.startswith("trial_") else "none"


def _trial(document: Json) -> Json:
    status = str(document["status"])
    names = ("job_id", "created_at", "updated_at", "finished_at", "workspace_id", "project_id", "error", "training")
    trial: Json = {"trial_id": "trial_" + str(document["job_id"]).removeprefix("job_"), "type": TYPE, "name": NAME}
    trial |= {name: document[name] for name in names if name in document}
    over = "finished_at" in document
    return trial | {"status": _STATUS.get(status, status), "cleanup_confirmed": over}


def _artifact(file: Json) -> Json:
    return {
        "artifact_id": file["name"],
        "name": file["name"],
        "size": file["size_bytes"],
        "sha256": file["sha256"],
        "state": "uploaded",
        "upload_state": "uploaded",
    }
