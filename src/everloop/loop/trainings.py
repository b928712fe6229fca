"""Jobs that callers submit: taken, launched, watched, ended. Any number of workers may do so at once.

A job is taken by one conditional update, which names the host. From then on every worker of that host may launch and
poll it: the launcher binds the job's folder, so that it starts once, and the first ending that is written stands.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import platform
import time
from collections.abc import Collection, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import cast

from everloop.errors import BindingMismatch, CheckpointCorrupt, EverloopError, JobFailed, StorageFull
from everloop.events import Json
from everloop.loop.context import Means
from everloop.paths import JobPaths
from everloop.remote.launchers import folder
from everloop.remote.launchers.base import JobSpec, JobState, JobStatus
from everloop.remote.launchers.registry import launcher
from everloop.store import jobs
from everloop.store.jobs import JobRow
from everloop.students import checkpoints
from everloop.students.base import TrainSettings
from everloop.students.training import CHECKPOINT, REQUEST, ROWS, request_bytes, training_argv
from everloop.values import iso, utcnow

log = logging.getLogger("everloop.loop")

AT_ONCE = 2
"""Most submitted jobs that one host runs at a time; runs' own jobs do not count."""
IDLE_SECONDS = 1.0
"""Pause between two looks while nothing waits or runs."""
LOOKED_AT = 100
"""Waiting jobs that a worker reads at a time, oldest first, to find those whose rows are on its machine."""
MISSED_SECONDS = 600.0
"""How long after its time limit a job of a host that tells nothing counts as lost."""
KEPT_SECONDS = 60.0
"""Pause between two times that a host says of its waiting jobs that it has their rows."""
ABSENT_SECONDS = 600.0
"""How long a worker waits for some host to say so of a waiting job before it ends the job."""
PASSING_SECONDS = 60.0
"""How long a job is tried again whose machine is short of something that may be there again."""


class Trainings:
    """The submitted jobs as one worker sees them."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._launcher = launcher("local")
        self._host = platform.node()
        self._launched: set[str] = set()
        self._absent: dict[str, tuple[str, float]] = {}
        self._short: dict[str, float] = {}
        self._tend_at = self._next = 0.0
        self._left = 0

    def look(self) -> int:
        """Do what is to be done now, and tell how many submitted jobs run here or wait among those looked at.

        Two indexed queries a call while there are any, and a second's pause while there are none. Jobs whose rows are
        on no machine that this worker sees are passed over, a query for each hundred.
        """
        now = time.monotonic()
        if self._left == 0 and now < self._next:
            return 0
        self._next = now + IDLE_SECONDS
        with self._means.database.read() as tx:
            running = jobs.submitted(tx, "running")
        for row in running:
            self._see(row)
        if now >= self._tend_at:
            self._tend(now)
        mine = sum(row.host == self._host for row in running)
        here = list(islice((row for row in self._waiting() if self._here(row)), LOOKED_AT))
        for row in here[: AT_ONCE - mine] if mine < AT_ONCE else []:
            self._see(row)
        self._left = mine + len(here)
        return self._left

    def _waiting(self) -> Iterator[JobRow]:
        """Every waiting job, oldest first, read as far as it is asked for."""
        after: tuple[str, str] | None = None
        while True:
            with self._means.database.read() as tx:
                page = jobs.submitted(tx, "pending", limit=LOOKED_AT, after=after)
            yield from page
            if len(page) < LOOKED_AT:
                return
            after = page[-1].created_at, page[-1].job_id

    def _here(self, row: JobRow) -> bool:
        return (self._paths(row).inputs / ROWS).is_file()

    def _tend(self, now: float) -> None:
        """Say which waiting jobs have their rows here, and end those of which no host has said so for long.

        By this worker's own clock, and since it first saw them so: a host that has been away may come back with it.
        """
        self._tend_at = now + KEPT_SECONDS
        waiting = list(self._waiting())
        here = {row.job_id for row in waiting if self._here(row)}
        if here:
            self._means.database.retrying(lambda: self._keep(here))
        before, self._absent = self._absent, {}
        for row in waiting:
            if row.job_id in here:
                continue
            told, since = before.get(row.job_id, (row.updated_at, now))
            self._absent[row.job_id] = row.updated_at, since if told == row.updated_at else now
            if told == row.updated_at and now - since >= ABSENT_SECONDS:
                self._end(row, JobStatus(JobState.FAILED, None, 0.0, {}, _NO_ROWS), among=("pending",))

    def _keep(self, job_ids: set[str]) -> None:
        with self._means.database.write(worker=self._means.worker) as tx:
            jobs.keep(tx, job_ids)

    def _see(self, row: JobRow) -> None:
        """One step of one job; an error of its own ends it, and keeps no other job waiting."""
        try:
            if row.state == "pending":
                self._take(row)
            elif row.host == self._host:
                self._carry(row)
            elif _missed(row):
                gone = f"its machine {row.host} has told nothing since"
                self._end(row, JobStatus(JobState.LOST, None, 0.0, {}, gone))
        except (EverloopError, OSError, ValueError, TypeError, KeyError) as error:
            if getattr(error, "code", "") in _OUTSIDE:
                raise
            if _passing(error) and self._waits(row, error):
                return
            log.warning("job %s cannot be carried out", row.job_id, exc_info=True)
            self._give_up(row, error)

    def _waits(self, row: JobRow, error: Exception) -> bool:
        """Whether a job is to be tried again at a later look; False when it has been for long enough."""
        now = time.monotonic()
        if row.job_id not in self._short:
            log.warning("job %s waits for room on this machine: %s", row.job_id, error)
        return now - self._short.setdefault(row.job_id, now) < PASSING_SECONDS

    def _take(self, row: JobRow) -> None:
        """Take a waiting job, unless another worker has taken it or the last free place."""
        if not self._means.database.retrying(lambda: self._taken(row)):
            return
        with self._means.database.read() as tx:
            mine = jobs.by_id(tx, row.job_id)
        if mine is not None and mine.state == "running":
            self._carry(mine)

    def _taken(self, row: JobRow) -> bool:
        with self._means.database.write(durable=True, worker=self._means.worker) as tx:
            return jobs.take(tx, row.job_id, self._host, AT_ONCE)

    def _carry(self, row: JobRow) -> None:
        """Launch the job or attach to it, stop it if that was asked for, end it when it has ended."""
        paths = self._paths(row)
        if row.stop_requested:
            status = self._stopped(paths)
        else:
            if row.job_id not in self._launched:
                self._launch(row, paths)
            status = self._launcher.poll(paths)
        if status.state.final:
            self._end(row, _checked(paths, status))

    def _stopped(self, paths: JobPaths) -> JobStatus:
        """Kill the job; how it stands then."""
        with folder.room(paths.root):
            folder.create(paths.cancelled, b"")  # first of all: a peer that is launching it now finds the mark
        if not paths.binding.exists():
            return JobStatus(JobState.CANCELLED, None, 0.0, {}, "stopped before it was started")
        self._launcher.cancel(paths)
        return self._launcher.poll(paths)

    def _launch(self, row: JobRow, paths: JobPaths) -> None:
        spec = self._spec(row, paths)
        try:
            if self._launcher.launch(paths, spec):
                log.info("job %s started", row.job_id)
        except BindingMismatch as error:
            # the installation changed between two launches; what was launched goes on, what was not cannot any more
            if not (paths.keeper.exists() or paths.returncode.exists()):
                raise JobFailed(f"job {row.job_id} could not be started again", why=error.message) from error
        self._launched.add(row.job_id)
        self._short.pop(row.job_id, None)

    def _spec(self, row: JobRow, paths: JobPaths) -> JobSpec:
        asked = cast(Json, row.spec)
        rows = (paths.inputs / ROWS).read_bytes()
        if hashlib.sha256(rows).hexdigest() != asked["rows_sha256"]:
            raise JobFailed(f"the rows of job {row.job_id} are not those that were submitted")
        settings = TrainSettings(**cast(dict[str, int], asked["settings"]))
        parent = self._parent(asked)
        request = request_bytes(str(asked["base_model"]), parent, cast(int, asked["seed"]), settings)
        seconds = self._means.settings.synthetic_seconds
        return JobSpec(
            job=row.job,
            argv=training_argv(),
            time_limit_seconds=cast(float, asked["time_limit_seconds"]),
            inputs={REQUEST: request, ROWS: rows},
            env={"EVERLOOP_SYNTHETIC_SECONDS": str(seconds)} if seconds else {},
            labels={name: str(value) for name, value in row.labels.items()},
        )

    def _parent(self, asked: Json) -> Path | None:
        """Folder of the checkpoint that the job goes on from."""
        if asked["parent"] is None:
            return None
        job_id = str(asked["parent"]).removeprefix("envloop://").partition("/")[0]
        with self._means.database.read() as tx:
            row = jobs.by_id(tx, job_id)
        if row is None:
            raise JobFailed(f"the parent {asked['parent']} is gone")
        home = self._means.home
        paths = self._paths(row) if row.submitted else home.run(row.run).job(row.job)
        return paths.outputs / CHECKPOINT

    def _give_up(self, row: JobRow, error: Exception) -> None:
        """End a job that cannot be carried out, and leave no process of it behind."""
        reason = error.message if isinstance(error, EverloopError) else f"{type(error).__name__}: {error}"
        try:
            self._launcher.cancel(self._paths(row))
        except (EverloopError, OSError):
            log.warning("job %s could not be cancelled", row.job_id, exc_info=True)
        self._end(row, JobStatus(JobState.FAILED, None, 0.0, {}, reason))

    def _end(self, row: JobRow, status: JobStatus, among: Collection[str] = jobs.ACTIVE) -> None:
        def write() -> bool:
            with self._means.database.write(durable=True, worker=self._means.worker) as tx:
                return jobs.end(
                    tx,
                    row.job_id,
                    str(status.state),
                    among=among,
                    returncode=status.returncode,
                    reason=status.reason or None,
                    seconds=status.seconds,
                )

        if self._means.database.retrying(write):
            log.info("job %s %s after %.1f s", row.job_id, status.state, status.seconds)
        self._launched.discard(row.job_id)
        self._short.pop(row.job_id, None)

    def _paths(self, row: JobRow) -> JobPaths:
        return self._means.home.job(row.job_id)


_OUTSIDE = {"STALE_WORKER", "SERVICE_UNAVAILABLE"}
"""Errors that say nothing of the job: this worker was fenced off, or the store is away."""


_NO_ROWS = "its rows are on no machine with a worker"
_SHORTAGES = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC}


def _passing(error: Exception) -> bool:
    """Whether the machine is short of processes, memory, files or room, of which there may be enough again."""
    return isinstance(error, StorageFull) or (isinstance(error, OSError) and error.errno in _SHORTAGES)


def _missed(row: JobRow) -> bool:
    """Whether a job of another host should have ended long ago."""
    limit = cast(float, (row.spec or {}).get("time_limit_seconds", 0.0))
    return str(iso(utcnow() - timedelta(seconds=limit + MISSED_SECONDS))) > row.updated_at


def _checked(paths: JobPaths, status: JobStatus) -> JobStatus:
    """The status of an ended job; one that left a corrupt or no checkpoint has failed, whatever it returned."""
    if status.state is not JobState.COMPLETED:
        return status
    try:
        checkpoints.verify(paths.outputs / CHECKPOINT)
    except CheckpointCorrupt as error:
        return JobStatus(JobState.FAILED, status.returncode, status.seconds, status.progress, error.message)
    return status
