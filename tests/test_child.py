"""Children that end with their parent; the modules they run are made here."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from everloop.child import Child, start

PATIENT = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: (Path(sys.argv[1]).with_name("asked").touch(), os._exit(7)))
Path(sys.argv[1]).write_text(f"{os.getpid()} {os.environ.get('OF_MINE', '')}")
print("told", *sys.argv[1:], flush=True)
time.sleep(60)
"""
STUBBORN = PATIENT.replace("(Path", "None and (Path")
PARENT = """
import sys, time
from pathlib import Path
from everloop.child import start
start(sys.argv[1], [sys.argv[2]], log=Path(sys.argv[3]), environment={"PYTHONPATH": sys.argv[4]})
time.sleep(60)
"""


def module(folder: Path, text: str) -> dict[str, str]:
    (folder / "of_a_test.py").write_text(text)
    return {"PYTHONPATH": str(folder)}


def eventually(test: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def started(folder: Path, text: str = PATIENT, **environment: str) -> Child:
    made = folder / "made"
    child = start("of_a_test", [str(made)], log=folder / "log", environment=module(folder, text) | environment)
    eventually(lambda: made.exists() and made.read_text())
    return child


def test_it_runs_a_module_with_arguments_and_environment(tmp_path: Path) -> None:
    child = started(tmp_path, OF_MINE="yes")
    assert (tmp_path / "made").read_text() == f"{child.pid} yes"
    child.end()
    assert child.poll() == 7
    assert (tmp_path / "log").read_text() == f"told {tmp_path / 'made'}\n"


def test_its_log_is_for_the_owner_even_if_it_was_not(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    log.chmod(0o644)
    started(tmp_path).end()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text().startswith("before\ntold ")


def test_it_leads_a_group_of_its_own(tmp_path: Path) -> None:
    child = started(tmp_path)
    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
    child.end()


def test_a_stubborn_one_is_killed(tmp_path: Path) -> None:
    child = started(tmp_path, STUBBORN)
    child.end(0.2)
    assert child.poll() == -signal.SIGKILL


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_is_asked_to_end_when_its_parent_ended(tmp_path: Path, how: signal.Signals) -> None:
    module(tmp_path, PATIENT)
    made = tmp_path / "made"
    words = [sys.executable, "-c", PARENT, "of_a_test", str(made), str(tmp_path / "log"), str(tmp_path)]
    parent = subprocess.Popen(words)
    eventually(lambda: made.exists() and made.read_text())
    child = psutil.Process(int(made.read_text().split()[0]))
    parent.send_signal(how)
    parent.wait()
    eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert (tmp_path / "asked").exists()


def test_the_death_of_a_sibling_ends_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, second = started(tmp_path), started(other)
    first.process.kill()
    first.end()
    time.sleep(0.3)
    assert second.poll() is None
    second.end()
