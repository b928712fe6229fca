"""Figures of an installation as a whole: runs and train jobs by state, workers alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from everloop.service.installation import Installation
from everloop.store import counting


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts at one moment."""

    runs: Mapping[str, int]
    """State -> runs."""
    jobs: Mapping[str, int]
    """State -> train jobs."""
    workers: int
    """Workers that have not been fenced off and gave a sign of life within three leases."""


def of(installation: Installation) -> Figures:
    """The figures now; grows with the number of runs and jobs, not with their events."""
    lease = installation.settings.worker_lease_seconds
    with installation.database.read() as tx:
        return Figures(counting.runs_by_state(tx), counting.jobs_by_state(tx), counting.workers_alive(tx, lease))


def workers_alive(installation: Installation) -> int:
    """How many workers there are to carry runs."""
    with installation.database.read() as tx:
        return counting.workers_alive(tx, installation.settings.worker_lease_seconds)
