"""Trainings as jobs: reserve, launch, wait, settle. A job id is bound to its request, so that no job starts twice."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sqlalchemy import Connection

from everloop.errors import BindingMismatch, CheckpointCorrupt, IncumbentUnavailable, JobFailed, StorageFull
from everloop.events import Event, EventKind, Json, JsonValue
from everloop.ledger import reservations
from everloop.loop.context import Context, Means
from everloop.loop.failure import Failure
from everloop.loop.journal import Done
from everloop.remote.launchers.base import JobSpec, JobState, JobStatus, Launcher
from everloop.store import jobs
from everloop.students import checkpoints
from everloop.students.base import Manifest, TrainRequest, TrainSettings
from everloop.students.training import request_bytes, training_argv
from everloop.values import Money

ATTEMPTS = 3
"""Launches of a training whose machine or process is lost before the candidate is given up."""
POLL = (0.02, 0.5)
"""Shortest and longest pause between polls, seconds; it grows by half each time."""


@dataclass(frozen=True, slots=True)
class Training:
    """One training of a run, whatever process does it."""

    name: str
    """``base``, ``r2c1``, ``control-0002``: names the checkpoint and the job."""
    round: int
    """Round it belongs to; 0 for the base."""
    purpose: str
    """``base``, ``candidate`` or ``control``."""
    rows: str
    """Rows file, relative to the run's folder."""
    parent: str | None
    """Parent checkpoint, relative to the run's folder."""
    seed: int
    """Seed of the training."""
    settings: TrainSettings
    """Steps, batch, learning rate."""


def train(context: Context, training: Training) -> Json:
    """Carry a training out; returns ``{"checkpoint", "sha256", "rows"}``. Failure when it did not succeed.

    Runs inside a workflow: each attempt is a launch phase and an await phase.
    """
    if context.trainer.capabilities().inline:
        return context.journal.phase(
            training.round, "train", lambda _: _inline(context, training), candidate=training.name
        )
    attempt = lost = 0
    while True:
        attempt += 1
        launched = launch(context, training, attempt)
        ended = wait(context, training, attempt, cast(int, launched["generation"]))
        lost += ended["state"] == JobState.LOST
        if not _again(context, training, ended, lost):
            break
    return _accepted(training, ended)


def launch(context: Context, training: Training, attempt: int) -> Json:
    """Phase: reserve the job's worst cost, record it, start it."""
    return context.journal.phase(
        training.round,
        "launch",
        lambda _: _launch(context, training, attempt),
        candidate=f"{training.name}.a{attempt}",
        spends=True,
    )


def wait(context: Context, training: Training, attempt: int, generation: int) -> Json:
    """Phase: wait for the job (launched in `generation` of the run), settle its cost, check what it left."""
    return context.journal.phase(
        training.round,
        "train",
        lambda _: _wait(context, training, attempt, generation),
        candidate=f"{training.name}.a{attempt}",
        spends=True,
        announce=True,
    )


def _again(context: Context, training: Training, ended: Json, lost: int) -> bool:
    """Whether another attempt is due: a lost machine, or what an owner may have mended before resuming.

    Without its base there is no run, so a base is tried again after every resume, whatever went wrong.
    """
    if ended["state"] == JobState.COMPLETED:
        return False
    if ended["state"] == JobState.LOST and lost < ATTEMPTS:
        return True
    mendable = ended["code"] in _SURROUNDINGS or training.purpose == "base"
    return mendable and ended["generation"] != context.row.generation


def _accepted(training: Training, ended: Json) -> Json:
    """The result of a training that succeeded; otherwise the failure it ended with, the same in every replay."""
    if ended["state"] != JobState.COMPLETED:
        reason = str(ended["reason"]) or "no reason was left"
        raise Failure(str(ended["code"]), f"the training of {training.name} ended {ended['state']}: {reason}")
    return ended


def _inline(context: Context, training: Training) -> Done:
    out = context.paths.root / "checkpoints" / training.name
    if out.exists():  # a checkpoint is written whole or not at all, so this one is an earlier working's
        return Done(_left(f"checkpoints/{training.name}", checkpoints.verify(out), context.row.generation))
    request = _request(context, training, out)
    if request.parent is not None:
        _whole(request.parent)
    manifest = context.trainer.train(request, lambda _: None)
    return Done(_left(f"checkpoints/{training.name}", manifest, context.row.generation))


def _whole(parent: Path) -> None:
    """IncumbentUnavailable when the checkpoint a training goes on from is corrupt: not the candidate's fault."""
    try:
        checkpoints.verify(parent)
    except CheckpointCorrupt as error:
        then = "Restore it from its snapshot, then resume the run"
        raise IncumbentUnavailable("the incumbent cannot be trained on", why=error.message, then=then) from error


def _request(context: Context, training: Training, out: Path) -> TrainRequest:
    parent = context.checkpoint(training.parent) if training.parent else None
    rows = context.paths.root / training.rows
    return TrainRequest(rows, out, parent, training.seed, training.settings)


def _left(checkpoint: str, manifest: Manifest, generation: int) -> Json:
    """The result of a training that left a checkpoint."""
    ended = _ended(JobState.COMPLETED, "", "", generation)
    return ended | {"checkpoint": checkpoint, "sha256": manifest.weights_sha256, "rows": manifest.rows}


def _ended(state: JobState, reason: str, code: str, generation: int) -> Json:
    """The result of a training that left none; `code` is the error it stands for."""
    return {
        "state": str(state),
        "checkpoint": None,
        "sha256": None,
        "rows": None,
        "reason": reason,
        "code": code,
        "generation": generation,
    }


def _job(training: Training, attempt: int) -> str:
    return f"{training.name}-a{attempt}"


def _spec(context: Context, training: Training, attempt: int) -> JobSpec:
    parent = context.checkpoint(training.parent) if training.parent else None
    request = request_bytes(context.trainer.name, parent, training.seed, training.settings)
    rows = (context.paths.root / training.rows).read_bytes()
    seconds = context.means.settings.synthetic_seconds
    env = {"EVERLOOP_SYNTHETIC_SECONDS": str(seconds)} if seconds else {}
    labels = {
        "rsi_run": context.run,
        "rsi_round": str(training.round),
        "rsi_purpose": training.purpose,
        "rsi_method": "sft",
        "rsi_checkpoint": training.name,
        "source": "everloop",
    }
    return JobSpec(
        job=_job(training, attempt),
        argv=training_argv(),
        time_limit_seconds=context.means.settings.job_time_limit_seconds,
        inputs={"request.json": request, "rows.jsonl": rows},
        env=env,
        labels=labels,
    )


def _launch(context: Context, training: Training, attempt: int) -> Done:
    spec = _spec(context, training, attempt)
    means, run = context.means, context.run
    hours = spec.time_limit_seconds / 3600
    worst = Money.from_usd(means.settings.local_usd_per_hour * hours).micros

    def reserve() -> None:
        with means.database.write(durable=True, worker=means.worker) as tx:
            reservations.reserve(tx, run, f"job.{spec.job}", compute_micros=worst)
            jobs.put(
                tx,
                run,
                spec.job,
                round=training.round,
                purpose=training.purpose,
                method="sft",
                labels=dict(spec.labels),
                digest=spec.digest(),
                launcher=context.launcher.name,
                reserved_micros=worst,
            )

    means.database.retrying(reserve)
    _start(context, spec)
    data: dict[str, JsonValue] = {"job": spec.job, "purpose": training.purpose, "reserved_micros": worst}
    text = f"job {spec.job} started: {training.settings.steps} steps for {training.name}"
    result: Json = {"job": spec.job, "generation": context.row.generation}
    return Done(result, [Event(EventKind.JOB, text, training.round, "build", "student", "train", data)])


def _start(context: Context, spec: JobSpec) -> None:
    """Launch, or attach to what this run launched before under the same id with settings that have changed since."""
    try:
        context.launcher.launch(context.paths.job(spec.job), spec)
    except BindingMismatch:
        with context.means.database.read() as tx:
            recorded = jobs.get(tx, context.run, spec.job)
        if recorded is None or recorded.digest == spec.digest():
            raise


def _wait(context: Context, training: Training, attempt: int, generation: int) -> Done:
    job = _job(training, attempt)
    status = _final(context, job)
    result = _checked(context, job, status, generation)
    cost = _cost(context.means, status.seconds)

    def write(tx: Connection) -> None:
        reservations.settle(tx, context.run, f"job.{job}", compute_micros=cost)
        jobs.update(
            tx,
            context.run,
            job,
            state=result["state"],
            returncode=status.returncode,
            reason=result["reason"] or None,
            seconds=status.seconds,
        )

    completed = result["state"] == JobState.COMPLETED
    text = f"job {job} {result['state']} after {status.seconds:.1f} s"
    if not completed:
        text += f": {result['reason']}"
    kind = EventKind.JOB if completed else EventKind.ERROR
    data: dict[str, JsonValue] = {"job": job, "state": result["state"], "seconds": status.seconds}
    return Done(result, [Event(kind, text, training.round, "build", "student", "train", data)], write)


def _cost(means: Means, seconds: float) -> int:
    """Micro-dollars of a job that ran so long; a kill that took a moment longer is not charged beyond the limit."""
    limit = means.settings.job_time_limit_seconds
    return Money.from_usd(means.settings.local_usd_per_hour * min(seconds, limit) / 3600).micros


def abandon(means: Means, launcher: Launcher, run: str) -> None:
    """Cancel every job of a run that is still at work, and settle what it cost; idempotent."""
    with means.database.read() as tx:
        at_work = [one.job for one in jobs.of_run(tx, run) if one.state == JobState.RUNNING]
    for job in at_work:
        paths = means.home.run(run).job(job)
        launcher.cancel(paths)
        status = launcher.poll(paths)

        def write(job: str = job, status: JobStatus = status) -> None:
            with means.database.write(durable=True, worker=means.worker) as tx:
                reservations.settle(tx, run, f"job.{job}", compute_micros=_cost(means, status.seconds))
                jobs.update(tx, run, job, state=str(status.state), returncode=status.returncode, seconds=status.seconds)

        means.database.retrying(write)


def _final(context: Context, job: str) -> JobStatus:
    paths, pause = context.paths.job(job), POLL[0]
    while not (status := context.launcher.poll(paths)).state.final:
        time.sleep(pause)
        pause = min(POLL[1], pause * 1.5)
    context.launcher.pull(paths)
    return status


_CODES = {4: StorageFull.code, 5: IncumbentUnavailable.code}
"""What the return codes of `everloop.students.training` stand for (5: a corrupt parent); any other is a failed job."""
_SURROUNDINGS = frozenset(_CODES.values())


def _checked(context: Context, job: str, status: JobStatus, generation: int) -> Json:
    """The result of an ended job; one that left a corrupt or no checkpoint has failed, whatever it returned."""
    if status.state is not JobState.COMPLETED:
        code = _CODES.get(status.returncode or 0, JobFailed.code)
        return _ended(status.state, status.reason, code, generation)
    relative = f"jobs/{job}/out/checkpoint"
    try:
        return _left(relative, checkpoints.verify(context.paths.root / relative), generation)
    except CheckpointCorrupt as error:
        return _ended(JobState.FAILED, error.message, error.code, generation)
