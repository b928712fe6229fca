"""A run carried to its end by a worker of this command's own, with its progress shown."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from everloop.cli.progress import ENDED, display, follow
from everloop.errors import JobFailed
from everloop.events import Json
from everloop.service import run_control, runs
from everloop.service.installation import Installation
from everloop.service.worker import spawn

PATIENCE = 10.0
"""Seconds a worker gets to sign off before it is killed; its runs stay resumable either way."""


def go_on(installation: Installation, run: str) -> str:
    """Make an earlier run active again; a run that is active or finished is left as it is. RunNotFound without it."""
    if runs.live(installation, run)["state"] in {"paused", "stopped"}:
        run_control.resume(installation, run)
    return run


def carry(installation: Installation, run: str, *, as_json: bool) -> Json:
    """Run a worker until the run ends and return its document. JobFailed when the worker died before."""
    live = runs.live(installation, run)
    if live["state"] not in ENDED:
        with _worker(installation) as worker, display(as_json=as_json) as shown:
            live = follow(lambda since: runs.live(installation, run, since), shown, alive=lambda: worker.poll() is None)
    if live["state"] not in ENDED:
        log = installation.home.root / "worker.log"
        raise JobFailed(
            f"the worker of run {run} ended early", why=f"see {log}", then=f"Go on with: el demo --resume {run}"
        )
    return runs.document(installation, run)


@contextmanager
def _worker(installation: Installation) -> Iterator[subprocess.Popen[bytes]]:
    worker = spawn(installation, drain=True)
    try:
        yield worker
    finally:
        # A second Ctrl-C while the worker signs off must not leave it behind.
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            _end(worker)
        finally:
            signal.signal(signal.SIGINT, previous)


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
