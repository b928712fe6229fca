"""Use cases on train jobs: submit, list, look, read the log, stop. A worker carries them out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from everloop.errors import IdempotencyConflict, InvalidRequest, InvalidTrainJobSpec, StateConflict, StoreUnavailable
from everloop.events import Json, JsonValue
from everloop.remote.launchers import folder
from everloop.service import checkpoints, job_log
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.job_document import TYPE, base_models, job_document, paths, require
from everloop.service.job_request import TrainJobRequest
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.store import jobs
from everloop.store.jobs import ENDED, STATUSES, JobRow, NewJob
from everloop.students.training import ROWS

T = TypeVar("T")

WAITING = 1000
"""Most jobs of a project that may wait at once; each keeps its rows on disk."""


def submit(installation: Installation, document: JsonValue, caller: Caller = LOCAL) -> Json:
    """Record a train job; a worker picks it up. The same request id with the same request is the same job.

    IdempotencyConflict when its project used the request id for another request, StateConflict when its queue is full.
    """
    caller.require(Permission.READ)
    caller.require(Permission.RUN)
    request = TrainJobRequest.from_json(document)
    if (made := _made(installation, request, caller)) is not None:
        return made
    new = _new_job(installation, request, caller)
    place = installation.home.job(new.job_id)
    with folder.room(place.root):  # the rows stand before the row does, so that no worker finds a job without them
        folder.make(place.root)
        folder.write_inputs(place.inputs, {ROWS: request.rows})
    try:
        recorded = _write(installation, lambda tx: _record(tx, new))
    except StoreUnavailable:
        raise  # the job may be recorded, only the answer was lost: its rows stay
    except Exception:
        shutil.rmtree(place.root, ignore_errors=True)
        raise
    if not recorded:  # another process was faster with the same request id
        shutil.rmtree(place.root, ignore_errors=True)
        made = _made(installation, request, caller)
        if made is not None:
            return made
    return get(installation, new.job_id, caller)


def _made(installation: Installation, request: TrainJobRequest, caller: Caller) -> Json | None:
    """The job that this request made before; None when it made none."""
    if request.request_id is None:
        return None
    with installation.database.read() as tx:
        row = jobs.by_request(tx, caller.project_id, request.request_id)
    if row is None:
        return None
    if row.digest != request.digest():
        why = f"it made job {row.job_id} of another request"
        raise IdempotencyConflict(f"request id {request.request_id} is taken", why=why, then="Use a new one")
    return get(installation, row.job_id, caller)


def _new_job(installation: Installation, request: TrainJobRequest, caller: Caller) -> NewJob:
    if request.parent is not None:
        parent = checkpoints.parent_of(installation, request.parent, caller)
        if parent != request.base_model:
            raise InvalidTrainJobSpec("spec.parent is no checkpoint of spec.base_model", why=f"it is one of {parent}")
    return NewJob(
        job_id=jobs.new_id(),
        workspace_id=caller.workspace_id,
        project_id=caller.project_id,
        subject=caller.subject,
        request_id=request.request_id,
        digest=request.digest(),
        purpose=request.purpose,
        labels=request.labels,
        label_run=request.label_run,
        spec=request.to_json() | {"time_limit_seconds": installation.settings.job_time_limit_seconds},
    )


def _record(tx: Connection, new: NewJob) -> bool:
    """Record a job; False when its request id is taken. An earlier try may have done so, and its answer was lost."""
    waiting = jobs.waiting(tx, new.project_id)
    if jobs.by_id(tx, new.job_id) is not None:
        return True
    checkpoints.check_parent(tx, new.spec)
    if waiting >= WAITING:
        then = "Wait for some to end, or stop them"
        raise StateConflict("the queue of this project is full", why=f"{WAITING} jobs wait", then=then)
    return jobs.submit(tx, new)


def listing(
    installation: Installation,
    caller: Caller = LOCAL,
    *,
    type: str | None = None,  # noqa: A002 - the wire's word
    status: str | None = None,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the jobs of the caller's project, its runs' own included, newest first."""
    caller.require(Permission.READ)
    most, before = checked_limit(limit), place_of(cursor, 2)
    if status is not None and status not in STATUSES:
        raise InvalidRequest(f"status {status!r:.80} is not known", then=f"Known: {', '.join(STATUSES)}")
    if type is not None and type != TYPE:
        return Page([], None)
    with installation.database.read() as tx:
        rows = jobs.listing(
            tx,
            project_id=None if caller.sees_all else caller.project_id,
            limit=most + 1,
            before=(before[0], before[1]) if before else None,
            status=status,
        )
        models = base_models(tx, rows)
    return page(rows, most, place_of_job, lambda row: job_document(row, models[row.job_id], installation.home))


def place_of_job(row: JobRow) -> tuple[str, str]:
    """Where a job stands in a list."""
    return row.created_at, row.job_id


def get(installation: Installation, job_id: str, caller: Caller = LOCAL) -> Json:
    """The job document. JobNotFound for a job of another project as for an unknown one."""
    row, base_model = _look(installation, job_id, caller)
    return job_document(row, base_model, installation.home)


def result(installation: Installation, job_id: str, caller: Caller = LOCAL) -> Json:
    """How a job ended and what it left; while it is at work, how it stands, with a result of null."""
    row, base_model = _look(installation, job_id, caller)
    document = job_document(row, base_model, installation.home)
    ended: Json = {
        "state": row.state,
        "seconds": row.seconds,
        "returncode": row.returncode,
        "reason": row.reason,
        "checkpoint": checkpoints.left(installation, row),
    }
    return document | {"result": ended if row.state in ENDED else None}


def stop(installation: Installation, job_id: str, caller: Caller = LOCAL) -> Json:
    """Stop a submitted job: a waiting one at once, a running one with its whole process tree.

    An ended one stays as it is. StateConflict for a job of a run, which would only launch it again.
    """
    caller.require(Permission.READ)
    caller.require(Permission.STOP)

    def write(tx: Connection) -> None:
        row = require(tx, job_id, caller)
        if row.state in ENDED:
            return
        if not row.submitted:
            then = "Stop the run"
            raise StateConflict(f"job {job_id} cannot be stopped alone", why=f"it belongs to run {row.run}", then=then)
        reason = f"stopped by {caller.subject} before it was started"
        if not jobs.end(tx, job_id, "cancelled", among=("pending",), reason=reason, seconds=0.0):
            jobs.ask_to_stop(tx, job_id)

    _write(installation, write)
    row, base_model = _look(installation, job_id, caller)
    return job_document(row, base_model, installation.home)


def logs(
    installation: Installation,
    job_id: str,
    caller: Caller = LOCAL,
    *,
    source: str | None = None,
    tail: JsonValue = None,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Json:
    """A page of a job's log: the system's lines and the training's own; follow it by its cursor until ``eof``."""
    row, _ = _look(installation, job_id, caller)
    asked = job_log.LogRequest.checked(source, tail, limit, cursor)
    return job_log.page(row, paths(installation.home, row), asked)


def _look(installation: Installation, job_id: str, caller: Caller) -> tuple[JobRow, str]:
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = require(tx, job_id, caller)
        return row, base_models(tx, [row])[row.job_id]


def _write(installation: Installation, use: Callable[[Connection], T]) -> T:
    def whole_transaction() -> T:
        with installation.database.write(durable=True) as tx:
            return use(tx)

    return installation.database.retrying(whole_transaction)
