from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jobwatch import LAUNCHER, ended, keeper, members, nobody_left, sh, starts, until

from everloop.errors import BindingMismatch, InvalidRequest, JobFailed, StorageFull
from everloop.paths import JobPaths
from everloop.remote.launchers import local, process_tree
from everloop.remote.launchers.base import JobSpec, JobState


@pytest.fixture
def paths(tmp_path: Path) -> JobPaths:
    return JobPaths(tmp_path / "jobs" / "job")


# -- a job that goes well ---------------------------------------------------------------------------------------------


def test_completes_with_progress_log_outputs_and_seconds(paths: JobPaths) -> None:
    script = """echo '{"step": 3}' > status.json; cat in/data/x.txt > out/y; sleep 0.2; echo done"""
    assert LAUNCHER.launch(paths, sh(script, inputs={"data/x.txt": b"content"})) is True
    status = ended(paths)
    assert (status.state, status.returncode, status.reason) == (JobState.COMPLETED, 0, "")
    assert status.progress == {"step": 3}
    assert 0.2 <= status.seconds < 5
    LAUNCHER.pull(paths)
    assert (paths.outputs / "y").read_bytes() == b"content"
    assert paths.log.read_text() == "done\n"
    nobody_left(paths)


def test_running_until_it_ends(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("until [ -e out/go ]; do sleep 0.01; done"))
    first = LAUNCHER.poll(paths)
    assert first.state is JobState.RUNNING and first.returncode is None and not first.state.final
    time.sleep(0.05)
    assert LAUNCHER.poll(paths).seconds > first.seconds
    (paths.outputs / "go").touch()
    assert ended(paths).state is JobState.COMPLETED


def test_environment_is_minimal(paths: JobPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "hush")
    LAUNCHER.launch(
        paths, sh("env -0 > out/env; pwd > out/pwd; tr '\\0' '\\n' < /proc/$PPID/environ > out/keeper", env={"A": "1"})
    )
    assert ended(paths).state is JobState.COMPLETED
    given = dict(part.split("=", 1) for part in (paths.outputs / "env").read_text().split("\0") if part)
    given.pop("_", None)
    assert set(given) - {"PWD", "SHLVL", "OLDPWD"} == {"PATH", "HOME", "LANG", "OMP_NUM_THREADS", "A"}
    assert given["HOME"] == str(paths.root.resolve()) == (paths.outputs / "pwd").read_text().strip()
    assert given["OMP_NUM_THREADS"] == "1"
    assert "hush" not in (paths.outputs / "keeper").read_text()


def test_signals_and_descriptors_of_the_job_are_the_usual_ones(paths: JobPaths) -> None:
    code = "import os, signal; print(sorted(signal.pthread_sigmask(0, [])), sorted(os.listdir('/proc/self/fd')))"
    LAUNCHER.launch(paths, JobSpec("job", (sys.executable, "-c", code), 20.0))
    assert ended(paths).state is JobState.COMPLETED
    masks, descriptors = paths.log.read_text().strip().split("] [")
    assert masks == "["
    assert descriptors == "'0', '1', '2', '3']"  # 3 is the listing itself


def test_folders_are_private(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("true", inputs={"a/b": b""}))
    ended(paths)
    for folder in (paths.root, paths.inputs, paths.inputs / "a", paths.outputs, paths.root.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    for file in (paths.binding, paths.spec, paths.log, paths.inputs / "a" / "b", paths.returncode):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 or file == paths.returncode


# -- how a job can end otherwise --------------------------------------------------------------------------------------


def test_own_failure_has_its_code_and_the_end_of_its_log(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("for i in $(seq 1 99); do echo line $i; done; echo boom >&2; exit 7"))
    status = ended(paths)
    assert (status.state, status.returncode) == (JobState.FAILED, 7)
    assert status.reason.startswith("returned 7") and status.reason.endswith("boom")
    assert "line 50" not in status.reason


def test_a_command_that_does_not_exist_fails(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, JobSpec("job", ("no-such-command",), 20.0))
    status = ended(paths)
    assert (status.state, status.returncode) == (JobState.FAILED, 127)
    assert "cannot run no-such-command" in status.reason


def test_a_crash_is_its_own_fault(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("kill -SEGV $$"))
    status = ended(paths)
    assert (status.state, status.returncode) == (JobState.FAILED, -signal.SIGSEGV)
    assert "SIGSEGV" in status.reason


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_from_outside_is_lost(paths: JobPaths, number: int) -> None:
    LAUNCHER.launch(paths, sh("echo $$ > out/pid; sleep 60"))
    until(lambda: (paths.outputs / "pid").exists() and (paths.outputs / "pid").read_text().endswith("\n"))
    os.kill(int((paths.outputs / "pid").read_text()), number)
    status = ended(paths)
    assert (status.state, status.returncode) == (JobState.LOST, -number)
    nobody_left(paths)


def test_time_limit_kills_the_whole_tree(paths: JobPaths) -> None:
    script = "setsid sh -c 'sleep 60; sleep 60' & env -i setsid sleep 61 & (trap '' TERM; sleep 62) & sleep 63"
    LAUNCHER.launch(paths, sh(script, limit=0.5))
    until(lambda: len(process_tree.descendants(keeper(paths))) >= 5)
    tree = process_tree.descendants(keeper(paths))
    status = ended(paths)
    assert status.state is JobState.TIMEOUT
    assert 0.5 <= status.seconds < 3
    assert "time limit" in status.reason
    assert [pid for pid in tree if process_tree.started(pid) is not None] == []


def test_stragglers_die_with_the_command(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("(env -i setsid sleep 60 & echo $! > out/pid); exit 0"))
    assert ended(paths).state is JobState.COMPLETED
    assert process_tree.started(int((paths.outputs / "pid").read_text())) is None


def test_cancel_kills_the_tree_and_stays(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("setsid sleep 60 & sleep 60"))
    LAUNCHER.cancel(paths)
    status = LAUNCHER.poll(paths)
    assert status.state is JobState.CANCELLED
    nobody_left(paths)
    assert LAUNCHER.launch(paths, sh("setsid sleep 60 & sleep 60")) is False
    assert LAUNCHER.poll(paths) == status


def test_cancel_of_an_ended_job_changes_nothing(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("true"))
    before = ended(paths)
    LAUNCHER.cancel(paths)
    assert LAUNCHER.poll(paths) == before
    assert not paths.cancelled.exists()


def test_cancel_of_a_frozen_keeper(paths: JobPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "GRACE", 0.2)
    LAUNCHER.launch(paths, sh("sleep 60"))
    os.kill(keeper(paths), signal.SIGSTOP)
    LAUNCHER.cancel(paths)
    assert LAUNCHER.poll(paths).state is JobState.CANCELLED
    nobody_left(paths)


def test_cancelled_before_it_was_started_never_starts(paths: JobPaths) -> None:
    spec = sh("touch out/ran")
    paths.root.mkdir(parents=True)
    local._bind(paths, spec)  # a worker that died between claim and start
    LAUNCHER.cancel(paths)
    assert LAUNCHER.poll(paths).state is JobState.CANCELLED
    LAUNCHER.launch(paths, spec)
    assert ended(paths).state is JobState.CANCELLED
    assert not (paths.outputs / "ran").exists()


def test_keeper_killed_is_lost_for_good_and_nothing_survives(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("setsid sleep 60 & sleep 60"))
    until(lambda: len(members(paths)) >= 4)
    os.kill(keeper(paths), signal.SIGKILL)
    status = ended(paths)
    assert (status.state, status.returncode) == (JobState.LOST, None)
    assert "keeper vanished" in status.reason
    nobody_left(paths)
    time.sleep(0.05)
    assert LAUNCHER.poll(paths) == status
    assert LAUNCHER.launch(paths, sh("setsid sleep 60 & sleep 60")) is False


def test_a_recycled_process_id_does_not_pass_for_the_keeper(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("sleep 60"))
    real = keeper(paths)
    document = json.loads(paths.keeper.read_text())
    document["pid"] = os.getpid()  # alive, but started at another time
    paths.keeper.write_text(json.dumps(document))
    assert LAUNCHER.poll(paths).state is JobState.LOST
    assert process_tree.started(os.getpid()) is not None
    until(lambda: process_tree.started(real) is None)


def test_another_boot_is_lost(paths: JobPaths) -> None:
    LAUNCHER.launch(paths, sh("sleep 60"))
    document = json.loads(paths.keeper.read_text())
    paths.keeper.write_text(json.dumps(document | {"boot": "another"}))
    assert LAUNCHER.poll(paths).state is JobState.LOST


def test_never_launched_is_lost(paths: JobPaths) -> None:
    assert LAUNCHER.poll(paths).state is JobState.LOST
    LAUNCHER.cancel(paths)
    assert not paths.root.exists()
    with pytest.raises(JobFailed):
        LAUNCHER.pull(paths)


# -- what the job reports is read with suspicion ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        "printf '{\"step\": ' > status.json",
        "echo '[1]' > status.json",
        "echo '{\"loss\": NaN}' > status.json",
        "head -c 100000 /dev/zero | tr '\\0' ' ' > status.json; echo '{}' >> status.json",
        "ln -s /etc/passwd status.json",
        "mkfifo status.json",
        "mkdir status.json",
        "printf '\\377\\376' > status.json",
        "yes '[' | head -20000 > status.json",
    ],
)
def test_a_status_that_cannot_be_believed_is_no_progress(paths: JobPaths, make: str) -> None:
    LAUNCHER.launch(paths, sh(make))
    status = ended(paths)
    assert status.state is JobState.COMPLETED
    assert status.progress == {}


# -- binding ----------------------------------------------------------------------------------------------------------


def test_same_request_reattaches_another_is_refused(paths: JobPaths) -> None:
    spec = sh("echo x >> out/starts; sleep 0.1")
    assert LAUNCHER.launch(paths, spec) is True
    assert LAUNCHER.launch(paths, spec) is False
    with pytest.raises(BindingMismatch):
        LAUNCHER.launch(paths, sh("echo y >> out/starts"))
    ended(paths)
    assert LAUNCHER.launch(paths, spec) is False
    assert starts(paths) == 1


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../b", "", "a//b", "./a", "a/", "a\\b", "a\0b"])
def test_unsafe_input_names_are_refused_before_anything_is_written(paths: JobPaths, name: str) -> None:
    with pytest.raises(InvalidRequest):
        LAUNCHER.launch(paths, sh("true", inputs={name: b""}))
    assert not paths.root.exists()


def test_a_symlink_in_the_way_of_an_input_is_refused(paths: JobPaths, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    paths.inputs.mkdir(parents=True)
    (paths.inputs / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidRequest, match="symbolic link"):
        LAUNCHER.launch(paths, sh("true", inputs={"a/b": b"x"}))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("limit", [0.0, -1.0, float("inf"), float("nan")])
def test_useless_time_limits_are_refused(paths: JobPaths, limit: float) -> None:
    with pytest.raises(InvalidRequest, match="time limit"):
        LAUNCHER.launch(paths, sh("true", limit=limit))


def test_unusable_commands_and_home_are_refused(paths: JobPaths) -> None:
    for spec in (JobSpec("job", (), 1.0), JobSpec("job", ("a\0b",), 1.0), sh("true", env={"HOME": "/"})):
        with pytest.raises(InvalidRequest):
            LAUNCHER.launch(paths, spec)


def test_no_room_is_storage_full_and_a_later_launch_starts_it(paths: JobPaths) -> None:
    code = f"""
import resource, sys
from everloop.errors import StorageFull
from everloop.paths import JobPaths
from everloop.remote.launchers.base import JobSpec
from everloop.remote.launchers.local import LocalLauncher
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
spec = JobSpec("job", ("sh", "-c", "echo x >> out/starts"), 20.0, {{"big": b"x" * 5000}})
try:
    LocalLauncher().launch(JobPaths(Path({str(paths.root)!r})), spec)
except StorageFull:
    sys.exit(3)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3
    assert list(paths.inputs.iterdir()) == []
    spec = JobSpec("job", ("sh", "-c", "echo x >> out/starts"), 20.0, {"big": b"x" * 5000})
    assert LAUNCHER.launch(paths, spec) is True
    assert ended(paths).state is JobState.COMPLETED
    assert starts(paths) == 1


def test_no_room_for_the_keeper_is_storage_full_too(paths: JobPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_BOOT", f"import resource; resource.setrlimit(1, (100, 100)); {local._BOOT}")
    with pytest.raises(StorageFull):
        LAUNCHER.launch(paths, sh("echo x >> out/starts"))
    monkeypatch.undo()
    assert LAUNCHER.launch(paths, sh("echo x >> out/starts")) is True
    assert ended(paths).state is JobState.COMPLETED


def test_launch_and_poll_are_quick(tmp_path: Path) -> None:
    launches, polls = [], []
    for number in range(20):
        paths = JobPaths(tmp_path / f"job{number}")
        begun = time.perf_counter()
        LAUNCHER.launch(paths, sh("sleep 0.3"))
        launches.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        LAUNCHER.poll(paths)
        polls.append(time.perf_counter() - begun)
    print(f"launch {sorted(launches)[10] * 1e3:.1f} ms, poll {sorted(polls)[10] * 1e3:.2f} ms")
    assert sorted(launches)[10] < 0.3  # 33 ms on a quiet machine; the bound only catches a blunder
    assert sorted(polls)[10] < 0.02
