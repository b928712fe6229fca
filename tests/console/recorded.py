"""Jobs, checkpoints, approvals, keys and members of a project, written straight into the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from everloop.events import Json
from everloop.service.installation import Installation
from everloop.store import approvals as stored_approvals
from everloop.store import jobs as stored_jobs
from everloop.store import runs as stored_runs
from everloop.store.jobs import NewJob
from everloop.store.runs import NewRun
from everloop.store.tables import jobs as table
from everloop.students.base import Manifest
from everloop.students.checkpoints import save

SPEC: Json = {
    "base_model": "nano",
    "user_metadata": {},
    "time_limit_seconds": 60.0,
    "parent": None,
    "settings": {"steps": 1500, "batch_size": 128, "learning_rate": 0.002},
    "rows": 6600,
    "rows_sha256": "b" * 64,
    "seed": 0,
}
RATIONALE: Json = {
    "what": "Train on verified samples of s3 and s4.",
    "why": "Diagnosis: s3 0.56 (9 of n=16); s4 0.31 (5 of n=16).",
    "expected_gain": "s3 and s4 to 0.7",
    "risks": "s1 and s2 are not trained",
}
EVIDENCE: Json = {
    "mean": 0.71,
    "baseline_mean": 0.6425,
    "change": 0.0675,
    "low": 0.0332,
    "high": 0.1018,
    "n": 400,
    "missing": 0,
    "evidence": {"log_e": 6.6501, "threshold": 5.2983},
    "families": {
        "s3": {
            "wins": 16,
            "losses": 3,
            "both_right": 28,
            "both_wrong": 53,
            "candidate_missing": 0,
            "baseline_missing": 1,
        }
    },
}


def run(place: Installation, run: str, project: str, group: str = "model", **columns: Any) -> str:
    """A run of a project, barely there."""
    names: dict[str, Any] = dict.fromkeys(("kind", "level", "domain", "brief", "machine"), "x")
    empty: dict[str, Any] = {name: {} for name in ("owner", "limits", "stop", "options", "protocol")}
    fixed: dict[str, Any] = {"mode": "live", "seed": 1, "rounds_target": 8, "goal": None, "protocol_sha256": "0"}
    new = NewRun(
        **names, **empty, **fixed, group=group, run=run, worst_case_usd=None, workspace_id="local", project_id=project
    )
    with place.database.write() as tx:
        stored_runs.create(tx, new)
        if columns:
            stored_runs.update(tx, run, **columns)
    return run


def submitted(place: Installation, project: str, n: int = 1, labels: Json | None = None, **columns: Any) -> list[str]:
    """So many submitted jobs, the oldest first."""
    given = labels or {}
    label = str(given["rsi_run"]) if "rsi_run" in given else None
    ids = [stored_jobs.new_id() for _ in range(n)]
    with place.database.write() as tx:
        for job_id in ids:
            purpose = str(given.get("agent_purpose", "submitted"))
            new = NewJob(job_id, "local", project, "key:6f4de2a43d87", None, "d", purpose, given, label, SPEC)
            stored_jobs.submit(tx, new)
        if columns:
            tx.execute(table.update().where(table.c.job_id.in_(ids)).values(**columns))
    return ids


def launched(place: Installation, run: str, job: str, **columns: Any) -> str:
    """A job that a run of a project launched."""
    labels: Json = {"rsi_run": run, "rsi_round": "1", "rsi_purpose": "candidate", "source": "everloop"}
    with place.database.write() as tx:
        stored_jobs.put(
            tx,
            run,
            job,
            round=1,
            purpose="candidate",
            method="sft",
            labels=labels,
            digest="d",
            launcher="local",
            reserved_micros=0,
        )
        if columns:
            tx.execute(table.update().where(table.c.run == run, table.c.job == job).values(**columns))
        found = stored_jobs.get(tx, run, job)
    assert found is not None
    return found.job_id


def left(place: Installation, project: str, labels: Json | None = None) -> str:
    """A completed job with a checkpoint of a few bytes; the job's id."""
    (job_id,) = submitted(place, project, labels=labels, state="completed", seconds=63.25, returncode=0)
    save(place.home.job(job_id).outputs / "checkpoint", b"weights of a test", "weights.safetensors", _manifest)
    return job_id


def _manifest(sha: str) -> Manifest:
    return Manifest("nano", sha, None, None, 4, 0, {}, 1, "cpu", {})


def logged(place: Installation, project: str, text: bytes, **columns: Any) -> str:
    """A job that runs, or is as `columns` say, and has written `text`."""
    (job_id,) = submitted(place, project, **({"state": "running", "host": "host-1"} | columns))
    paths = place.home.job(job_id)
    paths.root.mkdir(parents=True)
    paths.keeper.write_text(json.dumps({"pid": 1, "at": 1_700_000_000.0}))
    paths.log.write_bytes(text)
    return job_id


def asked(place: Installation, run: str, candidates: Sequence[str], document: Json | None = None) -> list[str]:
    """Approvals that a run asks for."""
    full: Json = {"round": 1, "baseline": "v0", "judge": {"id": "rubric", "version": "1"}, "sha256": "c" * 64}
    full |= {"rationale": RATIONALE, "evidence": EVIDENCE}
    with place.database.write() as tx:
        for candidate in candidates:
            given = full if document is None else document
            stored_approvals.put(tx, run, "certification", candidate, occasion=candidate, document=given)
    return [stored_approvals.id_of(run, "certification", one, one) for one in candidates]
