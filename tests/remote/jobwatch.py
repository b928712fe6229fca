"""Starting and watching jobs in the launcher's tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from everloop.paths import JobPaths
from everloop.remote.launchers import process_tree
from everloop.remote.launchers.base import JobSpec, JobStatus
from everloop.remote.launchers.local import LocalLauncher

LAUNCHER = LocalLauncher()


def sh(script: str, limit: float = 20.0, **more: object) -> JobSpec:
    return JobSpec("job", ("sh", "-c", script), limit, **more)  # type: ignore[arg-type] # keyword pass-through


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def ended(paths: JobPaths, seconds: float = 15.0) -> JobStatus:
    until(lambda: LAUNCHER.poll(paths).state.final, seconds)
    return LAUNCHER.poll(paths)


def keeper(paths: JobPaths) -> int:
    return int(json.loads(paths.keeper.read_text())["pid"])


def starts(paths: JobPaths) -> int:
    file = paths.outputs / "starts"
    return len(file.read_text().splitlines()) if file.exists() else 0


def members(paths: JobPaths) -> set[int]:
    return process_tree.remnants(str(paths.root.resolve()))


def nobody_left(paths: JobPaths) -> None:
    until(lambda: not members(paths))  # the keeper itself needs a moment to leave
