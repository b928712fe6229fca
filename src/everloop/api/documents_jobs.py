"""Documents of train jobs, their logs, checkpoints and trials, and of what can be trained."""

from __future__ import annotations

from everloop.api.shapes import (
    AMOUNT,
    ANYTHING,
    COUNT,
    FLAG,
    NUMBER,
    SHA256,
    TEXT,
    TIME,
    array,
    by_name,
    listing,
    nullable,
    one_of,
    record,
    ref,
    told,
)
from everloop.events import Json
from everloop.service.job_log import MOST as LINES
from everloop.service.job_request import BATCH, LABEL_NAME, LABEL_TEXT, LABELS, REQUEST_ID, ROWS, SEED, STEPS
from everloop.service.training_models import names
from everloop.store.jobs import ACTIVE, ENDED, STATUSES

_LABELS = told(by_name({"type": ["string", "integer"]}), "By name; `rsi_run` groups the jobs of a run.")
_SETTINGS = record({"steps": COUNT, "batch_size": COUNT, "learning_rate": NUMBER})
_FILE: dict[str, Json] = {"name": TEXT, "size_bytes": COUNT, "sha256": SHA256}
_LEFT: dict[str, Json] = {"checkpoint_id": TEXT, "path": told(TEXT, "`envloop://JOB/CHECKPOINT`.")}
_TRAINING: dict[str, Json] = {
    "base_model": TEXT,
    "method": TEXT,
    "purpose": TEXT,
    "round": COUNT,
    "labels": _LABELS,
    "user_metadata": _LABELS,
    "model_ids": array(TEXT),
    "settings": _SETTINGS,
    "rows": told(COUNT, "How many training rows."),
    "rows_sha256": SHA256,
    "seed": COUNT,
    "parent": TEXT,
    "state": one_of(*ACTIVE, *ENDED),
    "seconds": AMOUNT,
    "returncode": {"type": "integer"},
    "progress": told(by_name(NUMBER), "What a running job last reported: step, steps, loss."),
    "checkpoint": record(_LEFT),
}
_TOLD_ALWAYS = ("base_model", "method", "purpose", "labels", "user_metadata", "model_ids", "state")
_JOB: dict[str, Json] = {
    "job_id": TEXT,
    "type": one_of("train"),
    "status": one_of(*STATUSES),
    "created_at": TIME,
    "updated_at": TIME,
    "finished_at": TIME,
    "workspace_id": TEXT,
    "project_id": TEXT,
    "training": ref("Training"),
    "request_id": told(TEXT, "What its submitter called the request."),
    "submitted_by": told(TEXT, "Who submitted it; not there where a run launched it."),
    "run": told(TEXT, "Run that launched it; not there where somebody submitted it."),
    "error": told(record({"code": TEXT, "message": TEXT}), "Why it failed."),
}
_ABSENT = ("finished_at", "workspace_id", "project_id", "request_id", "submitted_by", "run", "error")
_RESULT: dict[str, Json] = {
    "state": one_of(*ENDED),
    "seconds": nullable(AMOUNT),
    "returncode": nullable({"type": "integer"}),
    "reason": nullable(TEXT),
    "checkpoint": nullable(record({**_LEFT, "files": array(ref("CheckpointFile"))})),
}
_ENDED = told(nullable(record(_RESULT)), "How it ended and what it left; null while it is at work.")
_LINE: dict[str, Json] = {
    "id": TEXT,
    "content": TEXT,
    "source": one_of("system", "runtime"),
    "at": TIME,
    "level": one_of("info", "error"),
    "phase": one_of("accepted", "started", "ended"),
}
_CHECKPOINT: dict[str, Json] = {
    "checkpoint_id": TEXT,
    "checkpoint_type": one_of("weights"),
    "tinker_path": told(TEXT, "`envloop://JOB/CHECKPOINT`."),
    "base_model": TEXT,
    "job_id": TEXT,
    "train_job_id": TEXT,
    "model_id": TEXT,
    "run_id": told(TEXT, "Its label `rsi_run`."),
    "name": TEXT,
    "status": one_of("available"),
    "created_at": TIME,
    "files": array(ref("CheckpointFile")),
    "size_bytes": COUNT,
}
_TRIAL: dict[str, Json] = {
    "trial_id": TEXT,
    "type": one_of("train"),
    "name": TEXT,
    "job_id": TEXT,
    "created_at": TIME,
    "updated_at": TIME,
    "finished_at": TIME,
    "workspace_id": TEXT,
    "project_id": TEXT,
    "error": record({"code": TEXT, "message": TEXT}),
    "training": ref("Training"),
    "status": one_of("pending", "running", "succeeded", "failed", "cancelled"),
    "cleanup_confirmed": FLAG,
}
_OF_TRIAL = ("finished_at", "workspace_id", "project_id", "error")
_OPERATION: dict[str, Json] = {
    "operation_id": TEXT,
    "type": one_of("checkpoint.delete"),
    "status": one_of("SUCCEEDED", "FAILED"),
    "checkpoint_id": TEXT,
    "errors": array(ANYTHING, 0),
}
_BASE: dict[str, Json] = {
    "base_model": TEXT,
    "name": TEXT,
    "methods": array(TEXT),
    "row": told(by_name(TEXT), "What a training row holds."),
    "defaults": record({"fresh": _SETTINGS, "from_parent": _SETTINGS}),
    "time_limit_seconds": AMOUNT,
}
_ARTIFACT: dict[str, Json] = {
    "artifact_id": TEXT,
    "name": TEXT,
    "size": COUNT,
    "sha256": SHA256,
    "state": one_of("uploaded"),
    "upload_state": one_of("uploaded"),
}

SCHEMAS: dict[str, Json] = {
    "Jobs": listing("Job"),
    "Job": record(_JOB, optional=_ABSENT, description="A train job. What is not known is left out."),
    "JobResult": record({**_JOB, "result": _ENDED}, optional=_ABSENT),
    "JobLog": record(
        {
            "items": array(record(_LINE, optional=("at", "level", "phase")), LINES),
            "next_cursor": told(TEXT, "Goes on after these lines, also once there are more."),
            "has_more": FLAG,
            "eof": told(FLAG, "Whether the job has ended and every line is told."),
        }
    ),
    "Training": record(_TRAINING, optional=tuple(name for name in _TRAINING if name not in _TOLD_ALWAYS)),
    "TrainingModels": listing("TrainingModel"),
    "TrainingModel": record(_BASE),
    "Checkpoints": listing("Checkpoint"),
    "Checkpoint": record(_CHECKPOINT, optional=("run_id", "name")),
    "CheckpointFile": record(_FILE),
    "Download": record(
        {
            "checkpoint_id": TEXT,
            "urls": told(by_name({"type": "string", "format": "uri"}), "Name of a file -> where it is, without a key."),
            "expires_in": told(COUNT, "Seconds that the addresses are good for."),
        }
    ),
    "Operation": record(_OPERATION),
    "Trials": listing("Trial"),
    "Trial": record(_TRIAL, optional=_OF_TRIAL, description="A train job as a trial."),
    "TrialResult": record({**_TRIAL, "result": _ENDED}, optional=_OF_TRIAL),
    "TrialSnapshot": record({"trial_id": TEXT, "job_id": TEXT, "type": one_of("train"), "spec": ANYTHING}),
    "TrialArtifacts": listing("TrialArtifact"),
    "TrialArtifact": record(_ARTIFACT),
}
"""Name -> schema."""


_NO_ZERO = r"^[^\u0000]*$"


def _bounded(kind: str, least: float, most: float, description: str) -> Json:
    return {"type": kind, "minimum": least, "maximum": most, "description": description}


def _asked_labels() -> Json:
    label: Json = {"type": ["string", "integer"], "maxLength": LABEL_TEXT, "pattern": _NO_ZERO}
    label |= {"minimum": 1 - 2**53, "maximum": 2**53 - 1}
    named: Json = {"minLength": 1, "maxLength": LABEL_NAME, "pattern": _NO_ZERO}
    return {"type": ["object", "null"], "additionalProperties": label, "propertyNames": named, "maxProperties": LABELS}


def _row() -> Json:
    text: Json = {"type": "string", "minLength": 1, "pattern": _NO_ZERO}
    weight: Json = {"type": "number", "exclusiveMinimum": 0, "default": 1}
    return record({"family": text, "prompt": text, "completion": text, "weight": weight}, optional=("weight",))


def _submission() -> Json:
    rate: Json = {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": "Learning rate."}
    parent: Json = {"type": ["string", "null"], "maxLength": 128, "pattern": "^envloop://[^\\u0000]*$"}
    spec: dict[str, Json] = {
        "base_model": one_of(*names()),
        "rows": {"type": "array", "items": _row(), "minItems": 1, "maxItems": ROWS},
        "steps": _bounded("integer", *STEPS, "Optimiser steps."),
        "batch_size": _bounded("integer", *BATCH, "Rows of a step."),
        "learning_rate": rate,
        "seed": _bounded("integer", *SEED, "Seed of fresh weights and of the order of rows."),
        "parent": told(parent, "Checkpoint to go on from; null: fresh weights."),
        "labels": _asked_labels(),
    }
    again: Json = {"type": ["string", "null"], "minLength": 1, "maxLength": REQUEST_ID, "pattern": _NO_ZERO}
    body: dict[str, Json] = {
        "type": one_of("train"),
        "request_id": told(again, "The same one with the same request is the same job."),
        "spec": record(spec, optional=tuple(name for name in spec if name not in {"base_model", "rows"})),
        "labels": _asked_labels(),
        "user_metadata": _asked_labels(),
    }
    return record(body, optional=tuple(name for name in body if name != "spec"))


SUBMISSION: Json = _submission()
"""Body of a submission."""
SUBMITTED: Json = {
    "type": "train",
    "request_id": "nightly-1",
    "spec": {
        "base_model": "nano",
        "rows": [{"family": "add", "prompt": "2+3=", "completion": "5"}],
        "steps": 200,
        "labels": {"rsi_run": "arith-carry-1", "agent_purpose": "trial"},
    },
}
"""Example of a submission."""
