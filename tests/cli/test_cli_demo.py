"""The demo command on the synthetic domain: real database, real worker process, a student that costs nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import psutil
import pytest

from everloop.cli.demo import _dry_request
from everloop.service import local_model, models, run_start
from everloop.service.installation import open_installation
from everloop.service.request import StartRequest
from everloop.settings import Settings

EL = [sys.executable, "-m", "everloop.cli.main"]


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"EVERLOOP_HOME": str(home), "EVERLOOP_DATABASE_URL": ""}


def demo(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [*EL, "demo", *([] if "--resume" in options else ["--domain", "synthetic"]), *options]
    return subprocess.run(argv, env=environment(home), capture_output=True, text=True, timeout=240)


def test_json_is_the_one_document_and_the_chart_is_drawn(tmp_path: Path) -> None:
    done = demo(tmp_path, "--json", "--rounds", "2", "--seed", "3", "--chart", str(tmp_path / "new" / "chart.svg"))
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["run"], document["state"], document["rounds_target"]) == ("synthetic-1", "finished", 2)
    assert document["options"]["seed"] == 3
    assert "final gate" in done.stderr
    drawn = ET.parse(tmp_path / "new" / "chart.svg").getroot()
    assert "v0:" in "".join(drawn.itertext())


def test_a_taken_name_gives_the_next_and_says_so(tmp_path: Path) -> None:
    assert "exists already" not in demo(tmp_path, "--fast").stderr
    again = demo(tmp_path, "--fast")
    assert "synthetic-1 exists already; this one is synthetic-2." in again.stderr
    assert "Run synthetic-2" in again.stdout
    assert (tmp_path / "runs" / "synthetic-2" / "scores.svg").exists()
    named = demo(tmp_path, "--run", "synthetic-2")
    assert (named.returncode, named.stdout) == (4, "")
    assert named.stderr.startswith("RSI_CONFLICT: ")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_leave_the_run_resumable_and_say_how(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    argv = [*EL, "demo", "--domain", "synthetic", "--rounds", "200"]
    child = subprocess.Popen(argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("[round 2/"):
            break
    workers = psutil.Process(child.pid).children(recursive=True)
    child.send_signal(sent)
    _, told = child.communicate(timeout=60)
    assert child.returncode == code
    assert "Traceback" not in told
    assert "el demo --resume synthetic-1" in told
    gone(workers)


def gone(processes: list[psutil.Process]) -> None:
    assert processes
    deadline = time.monotonic() + 20
    while any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_sigterm_ends_the_local_model_too(tmp_path: Path) -> None:
    argv = [*EL, "demo", "--dry", "--fast"]
    child = subprocess.Popen(argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    deadline, children = time.monotonic() + 60, []
    while len(children) < 2:  # the local model and the worker
        assert time.monotonic() < deadline and child.poll() is None
        children = psutil.Process(child.pid).children()
        time.sleep(0.1)
    children = psutil.Process(child.pid).children(recursive=True)
    child.send_signal(signal.SIGTERM)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 143
    assert "el demo --resume sums-prompt-1" in told and "Traceback" not in told
    gone(children)


@pytest.mark.parametrize("fast", [False, True])
def test_the_sizes_of_a_dry_demo_fit_the_supply(tmp_path: Path, fast: bool) -> None:
    installation = open_installation(Settings(home=tmp_path))
    models.add(installation, local_model.entry("http://127.0.0.1:9/v1"), None)
    asked = StartRequest.from_json({"run": "dry-1", **_dry_request(None, None, 0, fast=fast)})
    started = run_start.start(installation, asked)
    installation.close()
    assert (started["mode"], started["domain"], started["rounds_target"]) == ("dry", "sums", 1 if fast else 3)


def test_a_run_that_was_interrupted_goes_on_to_its_end(tmp_path: Path) -> None:
    argv = [*EL, "demo", "--domain", "synthetic", "--rounds", "6"]
    child = subprocess.Popen(argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("[round 1/"):
            break
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    done = demo(tmp_path, "--resume", "synthetic-1", "--json")
    document = json.loads(done.stdout)
    assert (document["state"], document["rounds_target"]) == ("finished", 6)
    assert json.loads(demo(tmp_path, "--resume", "synthetic-1", "--json").stdout) == document


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--resume", "nobody"], 3, "RSI_RUN_NOT_FOUND: "),
        (["--resume", "x", "--rounds", "2"], 2, "Usage: "),
        (["--resume", "x", "--seed", "0"], 2, "Usage: "),
        (["--resume", "x", "--domain", "arith"], 2, "Usage: "),
        (["--resume", "x", "--dry"], 2, "Usage: "),
        (["--rounds", "0"], 2, "Usage: "),
        (["--seed", "-1"], 2, "Usage: "),
        (["--run", "No Such Name"], 1, "INVALID_RSI_REQUEST: "),
    ],
)
def test_bad_input_is_refused_without_a_traceback(options: list[str], code: int, told: str, tmp_path: Path) -> None:
    done = demo(tmp_path, *options)
    assert done.returncode == code
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr


def test_an_unknown_domain_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [*EL, "demo", "--domain", "nonsense"], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr.split(":")[0]) == (1, "INVALID_RSI_REQUEST")


def test_a_chart_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = demo(tmp_path, "--fast", "--chart", str(tmp_path / "file" / "chart.svg"))
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_worker_drains(tmp_path: Path) -> None:
    done = subprocess.run(
        [*EL, "worker", "--drain"], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
