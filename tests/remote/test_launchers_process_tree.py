from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from everloop.remote.launchers import process_tree


def test_start_time_tells_processes_apart() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        first = process_tree.started(child.pid)
        assert first is not None and first == process_tree.started(child.pid)
        assert first >= (process_tree.started(os.getpid()) or 0)
    finally:
        child.kill()
        time.sleep(0.05)
        assert process_tree.started(child.pid) is None  # dead, and not yet reaped
        child.wait()
    assert process_tree.started(child.pid) is None


def test_remnants_are_known_by_their_home(tmp_path: Path) -> None:
    home = str(tmp_path)
    script = "import os, time; os.fork(); os.setsid() if os.getpgrp() != os.getpid() else None; time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", script], env={"HOME": home}, start_new_session=True)
    deadline = time.monotonic() + 10
    while len(process_tree.remnants(home)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(process_tree.remnants(home)) == 2
    assert process_tree.descendants(child.pid) == process_tree.remnants(home) - {child.pid}
    assert process_tree.kill_all(lambda: process_tree.remnants(home))
    assert process_tree.remnants(home) == set()
    child.wait()


def test_a_tree_that_grows_is_killed(tmp_path: Path) -> None:
    script = "while :; do sh -c 'sleep 30 & sleep 30' & sleep 0.01; done"
    child = subprocess.Popen(["sh", "-c", script], env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    time.sleep(0.3)
    assert process_tree.kill_all(lambda: process_tree.remnants(str(tmp_path)))
    time.sleep(0.1)
    assert process_tree.remnants(str(tmp_path)) == set()
    child.wait()


def test_kill_all_gives_up_in_time() -> None:
    begun = time.monotonic()
    assert process_tree.kill_all(lambda: {2**22 + 5}, seconds=0.1) is False  # a process that is not there, for ever
    assert time.monotonic() - begun < 2
