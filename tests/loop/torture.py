"""One torture: workers that die at planned boundaries, a training child that is killed, until the run has ended."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import ENDED, installation, log_of, request, state, worker

from everloop.service import run_start, runs
from everloop.service.installation import Installation

HERE = Path(__file__).parent
PHASES = (
    *("begin", "calibrate", "base-rows", "launch", "train", "baseline", "generation", "turn", "open", "control"),
    *("diagnose", "propose", "screen", "collect", "contamination", "admit", "dev", "evaluate", "audit", "decide"),
    *("certify", "conclude", "summarise", "closing", "control-pending", "final", "end"),
)
"""Every phase a run goes through."""
EDGES = ("begin", "worked", "committed")
SECONDS = 240.0


def asked(run: str) -> Any:
    options = {"trainer": "synthetic-job", "seed": 5}
    return request(run, rounds=3, options=options, limits={"dev_n": 160, "blind_n": 200})


class Torture:
    """Workers over one installation, respawned as they die."""

    def __init__(self, home: Path, url: str, plan: Sequence[tuple[str, str]]) -> None:
        self.place: Installation = installation(home, url, synthetic_seconds=0.3, worker_lease_seconds=3.0)
        self.plan = home / "plan"
        self.plan.mkdir()
        for phase, edge in plan:
            (self.plan / f"{phase}.{edge}").touch()
        self.planned = len(plan)
        self.child_kills = 0
        self.died = 0

    def run(self, run: str, *, workers: int, child_kills: int, seed: int) -> dict[str, Any]:
        """Start the run and keep `workers` workers going until it has ended and every planned kill has landed."""
        run_start.start(self.place, asked(run))
        living = [self.spawn() for _ in range(workers)]
        dice, deadline = random.Random(seed), time.monotonic() + SECONDS
        try:
            while state(self.place, run) not in ENDED:
                assert time.monotonic() < deadline, f"{run} has not ended: {log_of(self.place)}"
                time.sleep(0.05)
                living = [self._revived(process) for process in living]
                if self.child_kills < child_kills and dice.random() < 0.3:
                    self.child_kills += self._kill_a_training(run)
        finally:
            for process in living:
                process.kill()
                process.wait()
        return runs.document(self.place, run, rounds=1000)

    @property
    def landed(self) -> int:
        """Planned kills that have landed."""
        return self.planned - len(list(self.plan.iterdir()))

    def left(self) -> list[str]:
        """Planned kills that have not landed."""
        return sorted(path.name for path in self.plan.iterdir())

    def spawn(self) -> subprocess.Popen[bytes]:
        return worker(self.place, str(HERE / "torture_worker.py"), str(self.plan), drain=False)

    def _revived(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        if process.poll() is None:
            return process
        assert process.returncode == -signal.SIGKILL, f"a worker died of its own: {log_of(self.place)}"
        self.died += 1
        return self.spawn()

    def _kill_a_training(self, run: str) -> int:
        """SIGKILL a training child of the run, if one is at work; the keeper's tree is left alone."""
        for folder in (self.place.home.root / "runs" / run / "jobs").glob("*"):
            for pid in _trainings(folder):
                os.kill(pid, signal.SIGKILL)
                return 1
        return 0


def _trainings(folder: Path) -> list[int]:
    """Processes that train in a job's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            at = (entry / "cwd").resolve()
        except OSError:
            continue
        if b"everloop.students.training" in command and at == folder.resolve():
            found.append(int(entry.name))
    return found
