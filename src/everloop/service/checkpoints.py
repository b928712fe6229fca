"""Use cases on checkpoints: list, download by signed links, delete. Each is what one completed job left."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from everloop.errors import CheckpointCorrupt, CheckpointNotFound, InvalidTrainJobSpec, NotFound, StateConflict
from everloop.events import Json, JsonValue
from everloop.service import downloads
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.job_document import (
    base_models,
    checkpoint_id,
    checkpoint_path,
    metadata,
    model_id,
    paths,
    saved,
    seen,
)
from everloop.service.pages import Page, checked_limit, page, place_of
from everloop.service.permissions import Permission
from everloop.store import jobs
from everloop.store.jobs import JobRow
from everloop.students.checkpoints import MANIFEST, WEIGHTS, load_manifest
from everloop.students.training import CHECKPOINT
from everloop.values import iso, utcnow

log = logging.getLogger("everloop.service")

CONTENT = "/v1/job/checkpoints/content/"
"""Route of a file's content; a token follows."""
_SCHEME = "envloop://"


def listing(
    installation: Installation,
    caller: Caller = LOCAL,
    *,
    train_job_id: str | None = None,
    job_id: str | None = None,
    run_id: str | None = None,
    limit: JsonValue = None,
    cursor: str | None = None,
) -> Page:
    """A page of the checkpoints of the caller's project, newest first; of one job or one run if named.

    A page may hold fewer than `limit` where checkpoints were deleted; the end is where there is no next cursor.
    """
    caller.require(Permission.READ)
    most, before = checked_limit(limit), place_of(cursor, 2)
    named = {one for one in (train_job_id, job_id) if one is not None}
    with installation.database.read() as tx:
        if named:
            rows = [row] if len(named) == 1 and (row := jobs.by_id(tx, named.pop())) and seen(row, caller) else []
            rows = [row for row in rows if row.state == "completed" and run_id in {None, row.label_run} and not before]
        else:
            rows = jobs.listing(
                tx,
                project_id=None if caller.sees_all else caller.project_id,
                limit=most + 1,
                before=(before[0], before[1]) if before else None,
                status="completed",
                run=run_id,
            )
        models = base_models(tx, rows)
    shown = page(rows, most, lambda row: (row.created_at, row.job_id), lambda row: _item(installation, row, models))
    return Page([item for item in shown.items if item], shown.next_cursor)


def _item(installation: Installation, row: JobRow, models: dict[str, str]) -> Json:
    """The checkpoint as the list tells it; empty when it is gone or unreadable."""
    if not (found := files(installation, row)):
        return {}
    labels = metadata(row)
    item: Json = {
        "checkpoint_id": checkpoint_id(row),
        "checkpoint_type": "weights",
        "tinker_path": checkpoint_path(row),
        "base_model": models[row.job_id],
        "job_id": row.job_id,
        "train_job_id": row.job_id,
        "model_id": model_id(row),
        "run_id": row.label_run,
        "name": labels.get("agent_checkpoint") or labels.get("rsi_checkpoint"),
        "status": "available",
        "created_at": row.finished_at or row.updated_at,
        "files": cast(JsonValue, found),
        "size_bytes": sum(cast(int, one["size_bytes"]) for one in found),
    }
    return {name: value for name, value in item.items() if value is not None}


def left(installation: Installation, row: JobRow) -> Json | None:
    """The checkpoint that a job left, with its files; None when it left none or it was deleted."""
    if not saved(row):
        return None
    found = cast(JsonValue, files(installation, row))
    return {"checkpoint_id": checkpoint_id(row), "path": checkpoint_path(row), "files": found}


def files(installation: Installation, row: JobRow) -> list[Json]:
    """Name, size and SHA-256 of each file of a job's checkpoint; empty when it is gone or unreadable.

    The hash of the weights is the one the manifest names, which the job's end was checked against.
    """
    place = _folder(installation, row)
    if not saved(row):
        return []
    try:
        manifest = load_manifest(place)
        text = (place / MANIFEST).read_bytes()
        name = next(name for name in WEIGHTS if (place / name).is_file())
        size = (place / name).lstat().st_size
    except (CheckpointCorrupt, OSError, StopIteration):
        return []
    return [
        {"name": MANIFEST, "size_bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()},
        {"name": name, "size_bytes": size, "sha256": manifest.weights_sha256},
    ]


def download(
    installation: Installation,
    caller: Caller,
    base_url: str,
    *,
    path: str | None = None,
    job_id: str | None = None,
    run_id: str | None = None,
) -> Json:
    """A link, good for ten minutes and without a key, to each file of a checkpoint; `path` is its id or its URI."""
    caller.require(Permission.READ)
    row = _require(installation, path or "", caller)
    fits = job_id in {None, row.job_id} and run_id in {None, row.label_run}
    names = [str(one["name"]) for one in files(installation, row)] if fits else []
    if not names:
        raise _unknown(path or "")
    base = base_url.rstrip("/") + CONTENT
    urls: Json = {name: base + downloads.sign(installation.home, row.job_id, name) for name in names}
    return {"checkpoint_id": checkpoint_id(row), "urls": urls, "expires_in": downloads.SECONDS}


def content(installation: Installation, token: str) -> Path:
    """The file that a token of `download` stands for; no key is needed.

    AccessDenied for a token that is not ours or has expired, CheckpointNotFound when the checkpoint was deleted.
    """
    link = downloads.read(installation.home, token)
    with installation.database.read() as tx:
        row = jobs.by_id(tx, link.job_id)
    if row is None or not saved(row):
        raise _unknown(link.job_id)
    return plain_file(installation, row, link.name)


def plain_file(installation: Installation, row: JobRow, name: str) -> Path:
    """A file of a job's checkpoint. CheckpointNotFound for any other name, and for one behind a symbolic link."""
    place = _folder(installation, row)
    target = place / name
    known = name == MANIFEST or name in WEIGHTS
    # the folder's own parents are the installation's; a job can write only from its folder on
    linked = any(one.is_symlink() for one in (target, place, place.parent, place.parent.parent))
    if not known or linked or not target.is_file():
        raise _unknown(name)
    return target


def delete(installation: Installation, checkpoint: str, caller: Caller = LOCAL) -> Json:
    """Remove a checkpoint that a submitted job left; again is no error, and tries once more what did not go.

    StateConflict for one of a run, which goes on from it, and while a job of the project trains on it.
    """
    caller.require(Permission.RUN)
    row = _require(installation, checkpoint, caller, deleted=True)
    if not row.submitted:
        why = f"it belongs to run {row.run}, which goes on from it"
        raise StateConflict(f"checkpoint {checkpoint:.64} cannot be deleted", why=why)
    _mark_deleted(installation, row)
    shutil.rmtree(_folder(installation, row), ignore_errors=True)
    return _operation(installation, row)


def operation(installation: Installation, operation_id: str, caller: Caller = LOCAL) -> Json:
    """How a deletion went, by what is left. It is done when it is answered."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = jobs.by_id(tx, "job_" + operation_id.removeprefix("op_"))
    if row is None or not seen(row, caller) or not (row.spec or {}).get("checkpoint_deleted_at"):
        raise NotFound(f"operation {operation_id:.64} is not known")
    return _operation(installation, row)


def parent_of(installation: Installation, path: str, caller: Caller) -> str:
    """The base model of a checkpoint that a job is to go on from. InvalidTrainJobSpec when there is none."""
    try:
        row = _require(installation, path, caller)
        if not files(installation, row):
            raise _unknown(path)
    except CheckpointNotFound as error:
        raise _no_parent(path) from error
    with installation.database.read() as tx:
        return base_models(tx, [row])[row.job_id]


def check_parent(tx: Connection, spec: Json) -> None:
    """InvalidTrainJobSpec when the checkpoint that a job goes on from was deleted; nobody deletes it until `tx` ends.

    `spec`: what is kept of the job's request.
    """
    if spec.get("parent") is None:
        return
    path = str(spec["parent"])
    row = jobs.by_id(tx, _job_id(path), lock=True)
    if row is None or not saved(row):
        raise _no_parent(path)


def _no_parent(path: str) -> InvalidTrainJobSpec:
    return InvalidTrainJobSpec(f"spec.parent {path:.128} is not known", then="List the checkpoints")


def _job_id(name: str) -> str:
    """The job whose checkpoint has this id or URI."""
    return "job_" + name.rpartition("/")[2].removeprefix("ckpt_")


def _mark_deleted(installation: Installation, row: JobRow) -> None:
    def write() -> None:
        with installation.database.write(durable=True) as tx:
            now = jobs.by_id(tx, row.job_id, lock=True)
            users = [one for state in jobs.ACTIVE for one in jobs.submitted(tx, state)]
            using = [one.job_id for one in users if (one.spec or {}).get("parent") == checkpoint_path(row)]
            if using:
                why = f"job {using[0]} trains on it"
                raise StateConflict(f"checkpoint {checkpoint_id(row)} cannot be deleted", why=why, then="Wait for it")
            if now is not None and saved(now):
                jobs.note(tx, row.job_id, {**(now.spec or {}), "checkpoint_deleted_at": iso(utcnow())})

    installation.database.retrying(write)


def _operation(installation: Installation, row: JobRow) -> Json:
    remains = os.path.lexists(_folder(installation, row))
    if remains:
        log.warning("the checkpoint of job %s cannot be removed from %s", row.job_id, _folder(installation, row))
    told: Json = {"code": StateConflict.code, "message": "Its files cannot be removed. Delete it once more"}
    return {
        "operation_id": "op_" + row.job_id.removeprefix("job_"),
        "type": "checkpoint.delete",
        "status": "FAILED" if remains else "SUCCEEDED",
        "checkpoint_id": checkpoint_id(row),
        "errors": [told] if remains else [],
    }


def _require(installation: Installation, name: str, caller: Caller, *, deleted: bool = False) -> JobRow:
    """The completed job whose checkpoint has this id or URI. CheckpointNotFound, the same words whatever is amiss."""
    short = name
    if name.startswith(_SCHEME):
        job_id, _, short = name.removeprefix(_SCHEME).partition("/")
        if "job_" + short.removeprefix("ckpt_") != job_id:
            raise _unknown(name)
    if not short.startswith("ckpt_"):
        raise _unknown(name)
    with installation.database.read() as tx:
        row = jobs.by_id(tx, _job_id(short))
    if row is None or not seen(row, caller) or not (saved(row) or (deleted and row.state == "completed")):
        raise _unknown(name)
    return row


def _folder(installation: Installation, row: JobRow) -> Path:
    return paths(installation.home, row).outputs / CHECKPOINT


def _unknown(name: str) -> CheckpointNotFound:
    return CheckpointNotFound(f"checkpoint {name:.128} is not known", then="List the checkpoints there are")
