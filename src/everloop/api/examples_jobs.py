"""Examples of the documents of train jobs, checkpoints and trials, from real ones."""

from __future__ import annotations

from everloop.events import Json, JsonValue

_FILES: list[JsonValue] = [
    {
        "name": "manifest.json",
        "size_bytes": 401,
        "sha256": "71fe8864ed1c0c919f2c2dea49e81a644b0841551585f2fc5eb3670573dada95",
    },
    {
        "name": "weights.json",
        "size_bytes": 4032,
        "sha256": "3a863b1ecb7ac0d8d862b2e6000b7a916ac136742d0cc3b9bc0e141582428dfe",
    },
]
_TRAINING: Json = {
    "base_model": "synthetic-job",
    "method": "sft",
    "purpose": "submitted",
    "labels": {},
    "user_metadata": {},
    "model_ids": ["model_01M8MMSCXYYTCCR825N186DG34"],
    "settings": {"steps": 5, "batch_size": 128, "learning_rate": 0.002},
    "rows": 20,
    "rows_sha256": "bb77d88d99dafcf94020f18a2eb6860e495299a8622edf82589ad0f12dfb23fd",
    "seed": 0,
    "state": "completed",
    "seconds": 0.981,
    "returncode": 0,
    "checkpoint": {
        "checkpoint_id": "ckpt_01M8MMSCXYYTCCR825N186DG34",
        "path": "envloop://job_01M8MMSCXYYTCCR825N186DG34/ckpt_01M8MMSCXYYTCCR825N186DG34",
    },
}
_RESULT: Json = {
    "state": "completed",
    "seconds": 0.981,
    "returncode": 0,
    "reason": None,
    "checkpoint": {
        "checkpoint_id": "ckpt_01M8MMSCXYYTCCR825N186DG34",
        "path": "envloop://job_01M8MMSCXYYTCCR825N186DG34/ckpt_01M8MMSCXYYTCCR825N186DG34",
        "files": _FILES,
    },
}
_JOB: Json = {
    "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
    "type": "train",
    "status": "completed",
    "created_at": "2026-11-29T21:53:42.000000Z",
    "updated_at": "2026-11-29T21:53:51.000000Z",
    "workspace_id": "local",
    "project_id": "local",
    "training": _TRAINING,
    "finished_at": "2026-11-29T21:53:51.000000Z",
    "submitted_by": "key:6f4de2a43d87",
}
_TRIAL: Json = {
    "trial_id": "trial_01M8MMSCXYYTCCR825N186DG34",
    "type": "train",
    "name": "trial-1",
    "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
    "created_at": "2026-11-29T21:53:42.000000Z",
    "updated_at": "2026-11-29T21:53:51.000000Z",
    "finished_at": "2026-11-29T21:53:51.000000Z",
    "workspace_id": "local",
    "project_id": "local",
    "training": _TRAINING,
    "status": "succeeded",
    "cleanup_confirmed": True,
}

EXAMPLES: dict[str, Json] = {
    "Jobs": {"items": [_JOB], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Job": _JOB,
    "JobResult": {
        "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
        "type": "train",
        "status": "completed",
        "created_at": "2026-11-29T21:53:42.000000Z",
        "updated_at": "2026-11-29T21:53:51.000000Z",
        "workspace_id": "local",
        "project_id": "local",
        "training": _TRAINING,
        "finished_at": "2026-11-29T21:53:51.000000Z",
        "submitted_by": "key:6f4de2a43d87",
        "result": _RESULT,
    },
    "JobLog": {
        "items": [
            {
                "id": "accepted",
                "content": "job job_01M8MMSCXYYTCCR825N186DG34 from key:6f4de2a43d87 accepted",
                "at": "2026-11-29T21:53:42.000000Z",
                "source": "system",
                "level": "info",
                "phase": "accepted",
            },
            {
                "id": "started",
                "content": "job job_01M8MMSCXYYTCCR825N186DG34 started on host-1",
                "at": "2026-11-29T21:53:50.000000Z",
                "source": "system",
                "level": "info",
                "phase": "started",
            },
            {
                "id": "log-0",
                "content": "checkpoint 3a863b1ecb7ac0d8d862b2e6000b7a916ac136742d0cc3b9bc0e141582428dfe from 20 rows",
                "source": "runtime",
            },
            {
                "id": "ended",
                "content": "job job_01M8MMSCXYYTCCR825N186DG34 ended completed after 1.0 s",
                "at": "2026-11-29T21:53:51.000000Z",
                "source": "system",
                "level": "info",
                "phase": "ended",
            },
        ],
        "next_cursor": "WyIyIiwgIjg5IiwgIjEiXQ",
        "has_more": False,
        "eof": True,
    },
    "TrainingModels": {
        "items": [
            {
                "base_model": "nano",
                "name": "nano",
                "methods": ["sft"],
                "row": {
                    "family": "text",
                    "prompt": "text",
                    "completion": "text",
                    "weight": "positive number, 1 by default",
                },
                "defaults": {
                    "fresh": {"steps": 1500, "batch_size": 128, "learning_rate": 0.002},
                    "from_parent": {"steps": 500, "batch_size": 128, "learning_rate": 0.002},
                },
                "time_limit_seconds": 900.0,
            }
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
    "Checkpoints": {
        "items": [
            {
                "checkpoint_id": "ckpt_01M8MMSCXYYTCCR825N186DG34",
                "checkpoint_type": "weights",
                "tinker_path": "envloop://job_01M8MMSCXYYTCCR825N186DG34/ckpt_01M8MMSCXYYTCCR825N186DG34",
                "base_model": "synthetic-job",
                "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
                "train_job_id": "job_01M8MMSCXYYTCCR825N186DG34",
                "model_id": "model_01M8MMSCXYYTCCR825N186DG34",
                "status": "available",
                "created_at": "2026-11-29T21:53:51.000000Z",
                "files": _FILES,
                "size_bytes": 4433,
            }
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
    "Download": {
        "checkpoint_id": "ckpt_01M8MMSCXYYTCCR825N186DG34",
        "urls": {
            "manifest.json": "http://localhost:8711/v1/job/checkpoints/content/TOKEN",
            "weights.json": "http://localhost:8711/v1/job/checkpoints/content/TOKEN",
        },
        "expires_in": 600,
    },
    "Operation": {
        "operation_id": "op_01M8MMSCXYYTCCR825N186DG34",
        "type": "checkpoint.delete",
        "status": "SUCCEEDED",
        "checkpoint_id": "ckpt_01M8MMSCXYYTCCR825N186DG34",
        "errors": [],
    },
    "Trials": {"items": [_TRIAL], "next_cursor": None, "observed_at": "2026-11-29T21:31:46.000000Z"},
    "Trial": _TRIAL,
    "TrialResult": {
        "trial_id": "trial_01M8MMSCXYYTCCR825N186DG34",
        "type": "train",
        "name": "trial-1",
        "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
        "created_at": "2026-11-29T21:53:42.000000Z",
        "updated_at": "2026-11-29T21:53:51.000000Z",
        "finished_at": "2026-11-29T21:53:51.000000Z",
        "workspace_id": "local",
        "project_id": "local",
        "training": _TRAINING,
        "status": "succeeded",
        "cleanup_confirmed": True,
        "result": _RESULT,
    },
    "TrialSnapshot": {
        "trial_id": "trial_01M8MMSCXYYTCCR825N186DG34",
        "job_id": "job_01M8MMSCXYYTCCR825N186DG34",
        "type": "train",
        "spec": {
            "base_model": "synthetic-job",
            "method": "sft",
            "settings": {"steps": 5, "batch_size": 128, "learning_rate": 0.002},
            "rows": 20,
            "rows_sha256": "bb77d88d99dafcf94020f18a2eb6860e495299a8622edf82589ad0f12dfb23fd",
            "seed": 0,
            "labels": {},
        },
    },
    "TrialArtifacts": {
        "items": [
            {
                "artifact_id": "manifest.json",
                "name": "manifest.json",
                "size": 401,
                "sha256": "71fe8864ed1c0c919f2c2dea49e81a644b0841551585f2fc5eb3670573dada95",
                "state": "uploaded",
                "upload_state": "uploaded",
            },
            {
                "artifact_id": "weights.json",
                "name": "weights.json",
                "size": 4032,
                "sha256": "3a863b1ecb7ac0d8d862b2e6000b7a916ac136742d0cc3b9bc0e141582428dfe",
                "state": "uploaded",
                "upload_state": "uploaded",
            },
        ],
        "next_cursor": None,
        "observed_at": "2026-11-29T21:31:46.000000Z",
    },
}
"""Name of a document -> an example."""
