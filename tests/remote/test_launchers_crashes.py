"""A job is started once, never twice and never forgotten, whoever dies when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jobwatch import LAUNCHER, ended, members, nobody_left, starts
from launch_worker import spec as counted

from everloop.errors import JobFailed
from everloop.paths import JobPaths
from everloop.remote.launchers import local
from everloop.remote.launchers.base import JobState

WORKER = Path(__file__).with_name("launch_worker.py")


class _Server:
    """A worker process that launches on demand."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "ready"

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        self.process.wait()

    def ask(self, paths: JobPaths) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{paths.root} job\n")
        self.process.stdin.flush()

    def _answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def answer(self) -> bool:
        said = self._answer()
        assert said in {"True", "False"}
        return said == "True"

    def launch(self, paths: JobPaths) -> bool:
        self.ask(paths)
        return self.answer()


def test_two_workers_at_the_same_instant_start_it_once(tmp_path: Path) -> None:
    jobs = [JobPaths(tmp_path / f"job{number}") for number in range(60)]
    with _Server() as one, _Server() as other:
        for paths in jobs:
            one.ask(paths)
            other.ask(paths)
            assert sorted([one.answer(), other.answer()]) == [False, True]
    for paths in jobs:
        assert ended(paths).state is JobState.COMPLETED
        assert starts(paths) == 1


def test_two_keepers_at_the_same_instant_start_it_once(tmp_path: Path) -> None:
    """What a worker that died right after starting a keeper leaves to the next one."""
    for number in range(25):
        paths = JobPaths(tmp_path / f"job{number}")
        paths.root.mkdir()
        spec = counted("job")
        local._bind(paths, spec)
        local._prepare(paths, spec)
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda which: local._start(*which), [(paths, spec)] * 2))
        assert said.count(True) <= 1
        assert ended(paths).state is JobState.COMPLETED
        assert starts(paths) == 1


def test_worker_killed_at_every_line_of_a_launch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(WORKER), "die", str(tmp_path), "job"], capture_output=True, text=True, check=True
    )
    killed = int(done.stdout)
    assert killed > 60
    for number in range(1, killed + 1):
        paths = JobPaths(tmp_path / str(number))
        LAUNCHER.launch(paths, counted("job"))
        status = ended(paths)
        assert status.state is JobState.COMPLETED, (number, status)
        assert starts(paths) == 1, number
        assert paths.log.read_text() == "hello"


def test_keeper_killed_at_any_moment_starts_it_once_at_most(tmp_path: Path) -> None:
    dice = random.Random(7)
    outcomes = set()
    for number in range(30):
        paths = JobPaths(tmp_path / f"job{number}")
        killer = threading.Thread(target=_kill_keeper, args=(paths, dice.uniform(0.0, 0.05)))
        killer.start()
        for _ in range(3):
            try:
                LAUNCHER.launch(paths, counted("job"))
                break
            except JobFailed:  # killed before it had claimed the job: the next launch starts it
                continue
        killer.join()
        status = ended(paths)
        outcomes.add(status.state)
        assert status.state in {JobState.COMPLETED, JobState.LOST}
        assert starts(paths) <= 1
        assert starts(paths) == 1 or status.state is JobState.LOST
        nobody_left(paths)
    assert JobState.COMPLETED in outcomes


def _kill_keeper(paths: JobPaths, after: float) -> None:
    time.sleep(after)
    for pid in members(paths):
        command = Path(f"/proc/{pid}/cmdline")
        try:
            if b"keeper" in command.read_bytes():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def test_another_process_reattaches(tmp_path: Path) -> None:
    paths = JobPaths(tmp_path / "job")
    with _Server() as server:
        assert server.launch(paths) is True
        server.process.kill()
        server.process.wait()
    assert LAUNCHER.launch(paths, counted("job")) is False
    assert ended(paths).state is JobState.COMPLETED
    assert starts(paths) == 1
