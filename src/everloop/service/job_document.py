"""The job document: one shape for every interface, made from what the store holds. What is absent is left out.

Clients read ``{**job["training"], **job}``: a null at the top would hide what stands below, so there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Connection

from everloop.errors import JobFailed, JobNotFound
from everloop.events import Json, JsonValue
from everloop.paths import Home, JobPaths
from everloop.remote.launchers import folder
from everloop.service.caller import Caller
from everloop.store import jobs
from everloop.store.jobs import STATUSES, JobRow

TYPE = "train"
"""The only type of job there is here."""
FAILED = STATUSES["failed"][0]
"""States that are told as ``failed``."""


def require(tx: Connection, job_id: str, caller: Caller) -> JobRow:
    """The job, if the caller sees it. JobNotFound, the same words for both, when it does not or there is none."""
    row = jobs.by_id(tx, job_id)
    if row is None or not seen(row, caller):
        raise JobNotFound(f"job {job_id:.64} is not known", then="List the jobs there are")
    return row


def seen(row: JobRow, caller: Caller) -> bool:
    """Whether the job is of the caller's project."""
    return caller.sees_all or (row.workspace_id, row.project_id) == (caller.workspace_id, caller.project_id)


def paths(home: Home, row: JobRow) -> JobPaths:
    """The folder of a job: its own, or the one in its run's folder."""
    return home.job(row.job_id) if row.submitted else home.run(row.run).job(row.job)


def status(row: JobRow) -> str:
    """The word for its state outside."""
    if row.state == "running":
        return "stopping" if row.stop_requested else "running"
    return "failed" if row.state in FAILED else row.state


def base_models(tx: Connection, rows: list[JobRow]) -> dict[str, str]:
    """Job id -> what it trains; one statement for all the runs among them."""
    trainers = jobs.trainers(tx, {row.run for row in rows if not row.submitted})
    return {row.job_id: str(row.spec["base_model"]) if row.spec else trainers.get(row.run, "unknown") for row in rows}


def job_document(row: JobRow, base_model: str, home: Home) -> Json:
    """Everything there is to know of a job."""
    document: Json = {
        "job_id": row.job_id,
        "type": TYPE,
        "status": status(row),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "workspace_id": row.workspace_id,
        "project_id": row.project_id,
        "training": _training(row, base_model, home),
    }
    if row.finished_at is not None:
        document["finished_at"] = row.finished_at
    if row.submitted:
        document |= {"request_id": row.request_id, "submitted_by": row.subject}
    else:
        document["run"] = row.run
    if row.state in FAILED:
        document["error"] = {"code": JobFailed.code, "message": row.reason or f"the job ended {row.state}"}
    return {name: value for name, value in document.items() if value is not None}


def _training(row: JobRow, base_model: str, home: Home) -> Json:
    asked = row.spec or {}
    training: Json = {
        "base_model": base_model,
        "method": row.method,
        "purpose": row.purpose,
        "round": None if row.submitted else row.round,
        "labels": row.labels,
        "user_metadata": metadata(row),
        "model_ids": [model_id(row)],
        "settings": asked.get("settings"),
        "rows": asked.get("rows"),
        "rows_sha256": asked.get("rows_sha256"),
        "seed": asked.get("seed"),
        "parent": asked.get("parent"),
        "state": row.state,
        "seconds": row.seconds,
        "returncode": row.returncode,
        "progress": progress(row, home),
        "checkpoint": _checkpoint(row),
    }
    return {name: value for name, value in training.items() if value is not None}


def metadata(row: JobRow) -> Json:
    """What groups the job: the metadata of its caller's session, else its labels.

    The loop's own jobs name their agent in both spellings that clients read.
    """
    given = cast(Json, row.spec["user_metadata"]) if row.spec else {}
    if given or row.submitted:
        return given or row.labels
    return {**row.labels, "agent": row.labels.get("source", "everloop")}


def model_id(row: JobRow) -> str:
    """Id of the one model that a job trains."""
    return "model_" + row.job_id.removeprefix("job_")


def checkpoint_id(row: JobRow) -> str:
    """Id of the one checkpoint that a job leaves."""
    return "ckpt_" + row.job_id.removeprefix("job_")


def checkpoint_path(row: JobRow) -> str:
    """URI of the checkpoint."""
    return f"envloop://{row.job_id}/{checkpoint_id(row)}"


def saved(row: JobRow) -> bool:
    """Whether the job left a checkpoint that nobody has deleted."""
    return row.state == "completed" and not (row.spec or {}).get("checkpoint_deleted_at")


def _checkpoint(row: JobRow) -> JsonValue:
    if not saved(row):
        return None
    return {"checkpoint_id": checkpoint_id(row), "path": checkpoint_path(row)}


def progress(row: JobRow, home: Home) -> JsonValue:
    """What a running job last reported: step, steps, loss."""
    if row.state != "running":
        return None
    told: Mapping[str, JsonValue] = folder.read_object(paths(home, row).status) or {}
    return {name: told[name] for name in ("step", "steps", "loss") if isinstance(told.get(name), int | float)} or None
