"""What a launcher is: the one way a job reaches a machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from everloop.events import JsonValue
from everloop.paths import JobPaths


class JobState(StrEnum):
    """States of a job; the last five are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    """The command returned non-zero of its own accord."""
    TIMEOUT = "timeout"
    """Killed at its time limit."""
    CANCELLED = "cancelled"
    LOST = "lost"
    """Killed from outside, or its machine is gone: an infrastructure error, worth another attempt."""

    @property
    def final(self) -> bool:
        """Whether the job will change no more."""
        return self is not JobState.RUNNING


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What to run. Its digest binds a job id: the same request re-attaches, another one is refused."""

    job: str
    """Id, unique in its run; one safe path segment."""
    argv: tuple[str, ...]
    """Command; runs with the job's folder as working directory."""
    time_limit_seconds: float
    """Wall seconds after which the whole process tree is killed."""
    inputs: Mapping[str, bytes] = field(default_factory=dict)
    """Files written below ``in/`` before the start: safe relative name -> content."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment added to a minimal one (never the worker's own: secrets do not pass)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """``rsi_run rsi_round rsi_purpose rsi_method rsi_checkpoint source``."""

    def digest(self) -> str:
        """SHA-256 hex over every field."""
        document = {
            "job": self.job,
            "argv": list(self.argv),
            "time_limit_seconds": self.time_limit_seconds,
            "inputs": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(self.inputs.items())},
            "env": dict(sorted(self.env.items())),
            "labels": dict(sorted(self.labels.items())),
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How a job stands."""

    state: JobState
    """Running, or how it ended."""
    returncode: int | None
    """Return code; None while running or when it never returned."""
    seconds: float
    """Wall seconds from start to end, or to now."""
    progress: Mapping[str, JsonValue]
    """What the job last reported."""
    reason: str
    """Why it did not complete, with the tail of its log; empty otherwise."""


class Launcher(Protocol):
    """Starts and watches jobs. Found by the entry-point group ``everloop.launchers``."""

    @property
    def name(self) -> str:
        """Name of the launcher."""

    def launch(self, paths: JobPaths, spec: JobSpec) -> bool:
        """Start the job, or re-attach to it; True if this call started it.

        BindingMismatch when the id is bound to another request; StorageFull when its folder cannot be written.
        """

    def poll(self, paths: JobPaths) -> JobStatus:
        """How the job stands now."""

    def pull(self, paths: JobPaths) -> None:
        """Bring the outputs to ``paths.outputs`` on this machine."""

    def cancel(self, paths: JobPaths) -> None:
        """Kill the whole process tree and mark the job cancelled. No effect on an ended job."""
