"""Where files of an installation, a run and a job lie. No other module builds such a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from everloop.errors import InvalidRequest

_NAME = re.compile(r"[a-z0-9-][a-z0-9._-]{0,127}")


def checked_name(name: str) -> str:
    """`name` if it is safe as one path segment, else InvalidRequest."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InvalidRequest(f"{name!r} cannot name a folder", why="use a-z, 0-9, dot, dash, underscore")
    return name


@dataclass(frozen=True, slots=True)
class Home:
    """The installation's folder."""

    root: Path
    """``Settings.home``."""

    def create(self) -> Home:
        """Make the folder, mode 0700, and return self."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self

    def run(self, run: str) -> RunPaths:
        """The paths of one run."""
        return RunPaths(self.root / "runs" / checked_name(run))

    def job(self, job_id: str) -> JobPaths:
        """The paths of a job that belongs to no run; its id is ``job_`` and a ULID."""
        return JobPaths(self.root / "jobs" / checked_name(job_id.removeprefix("job_").lower()))

    @property
    def connection(self) -> Path:
        """How commands of this account reach the server that `el up` runs; there while it does."""
        return self.root / "connection.json"

    @property
    def signing_key(self) -> Path:
        """Secret that signs download links."""
        return self.root / "signing.key"

    @property
    def workers(self) -> Path:
        """Lock files of live workers."""
        return self.root / "workers"


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The folder of one run."""

    root: Path
    """``HOME/runs/RUN``."""

    def job(self, job: str) -> JobPaths:
        """The paths of one job of the run."""
        return JobPaths(self.root / "jobs" / checked_name(job))

    def snapshot(self, version: str) -> Path:
        """Snapshot of a certified version."""
        return self.root / "snapshots" / checked_name(version)


@dataclass(frozen=True, slots=True)
class JobPaths:
    """The folder of one job: what it was asked, how it goes, what it left."""

    root: Path
    """``.../jobs/JOB``."""

    @property
    def binding(self) -> Path:
        """The request's digest; its exclusive creation is the claim to launch."""
        return self.root / "binding"

    @property
    def spec(self) -> Path:
        """The request as JSON."""
        return self.root / "spec.json"

    @property
    def status(self) -> Path:
        """Progress the job reports, as JSON, replaced atomically."""
        return self.root / "status.json"

    @property
    def keeper(self) -> Path:
        """Who keeps the running job; its exclusive creation is the claim to start the command."""
        return self.root / "keeper"

    @property
    def cancelled(self) -> Path:
        """Marker that the job was cancelled, written before anything is killed."""
        return self.root / "cancelled"

    @property
    def returncode(self) -> Path:
        """How the job ended and its return code, as JSON; written once when the job has ended."""
        return self.root / "rc"

    @property
    def log(self) -> Path:
        """Standard output and error of the job."""
        return self.root / "job.log"

    @property
    def inputs(self) -> Path:
        """Files given to the job."""
        return self.root / "in"

    @property
    def outputs(self) -> Path:
        """Files the job leaves."""
        return self.root / "out"
