"""A worker for the launcher's tests: a process of its own that launches what it is told to.

``launch_worker.py serve``: reads ``FOLDER JOB`` lines, launches, answers ``True`` or ``False``.
``launch_worker.py die FOLDER JOB``: for N = 1, 2, ... forks a worker that is killed by SIGKILL at the N-th line it runs
inside the launcher's own files, until one gets through; each job lies in ``FOLDER/N``. Prints how many were killed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from everloop.paths import JobPaths
from everloop.remote.launchers import folder, local
from everloop.remote.launchers.base import JobSpec

OURS = {local.__file__, folder.__file__}


def spec(job: str) -> JobSpec:
    return JobSpec(job, ("sh", "-c", "echo $$ >> out/starts; cat in/deep/a.txt"), 20.0, {"deep/a.txt": b"hello"})


def serve() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        place, job = line.split()
        print(local.LocalLauncher().launch(JobPaths(Path(place)), spec(job)), flush=True)


def dying_at(count: int, place: Path, job: str) -> None:
    left = count

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal left
        if frame.f_code.co_filename not in OURS:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)  # type: ignore[arg-type] # the protocol of tracers is looser than its stub
    local.LocalLauncher().launch(JobPaths(place), spec(job))
    sys.settrace(None)
    os._exit(0)


def die(root: Path, job: str) -> None:
    count = 0
    while True:
        count += 1
        pid = os.fork()
        if pid == 0:
            dying_at(count, root / str(count), job)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            break
    print(count - 1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        die(Path(sys.argv[2]), sys.argv[3])
