"""What the checks leave out: many pages of jobs, the wizard at a terminal, a live run that really trains."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
import vendor
from served import Served
from vendor_groups import ROWS

from everloop.service import local_model

PATIENCE = 800
SIZES = {
    "diag_per_family": 8,
    "dev_n": 64,
    "admission_n": 16,
    "eval_limit": 200,
    "blind_n": 64,
    "calib_n": 16,
    "collect_tasks": 20,
    "collect_k": 1,
}
"""Sizes of a live run of a minute."""
FEW = {"diag_per_family": 1, "dev_n": 20, "admission_n": 3, "eval_limit": 16, "blind_n": 8, "calib_n": 3}
"""Sizes of a dry run of half a minute with a real language model, its final gate included."""


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Served]:
    """A server without a worker: what is submitted waits."""
    vendor.client()
    with Served(tmp_path / "home", workers=0) as server:
        yield server


def environment(home: Path, **named: str) -> dict[str, str]:
    saved = home / "envloop"
    saved.mkdir(mode=0o700, exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "ENVLOOP_HOME": str(saved), "NO_PROXY": "*"} | named


def el(server: Served, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    told = environment(home, ENVLOOP_BASE_URL=server.url, ENVLOOP_API_KEY=server.key)
    command = [str(vendor.client()), *words]
    return subprocess.run(command, capture_output=True, text=True, env=told, cwd=home, timeout=PATIENCE)


def document(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_of_more_jobs_than_a_page_is_listed_whole(quiet: Served, tmp_path: Path) -> None:
    for number in range(105):
        labels = {"agent_run": "many", "agent_round": str(number % 7)}
        spec = {"base_model": "nano", "rows": ROWS[:1], "labels": labels}
        assert quiet.post("/v1/job", {"type": "train", "spec": spec}).status_code in {200, 201, 202}
    listed = document(el(quiet, tmp_path, "job", "run", "list", "--json"))["items"]
    assert [(row["run"], row["trainings"]["total"]) for row in listed] == [("many", 105)]
    rounds = document(el(quiet, tmp_path, "job", "run", "get", "many", "--json"))["rounds"]
    assert [len(one["jobs"]) for one in rounds] == [15] * 7


def test_the_wizard_at_a_terminal_saves_a_connection_that_works(quiet: Served, tmp_path: Path) -> None:
    told, client = environment(tmp_path), str(vendor.client())
    subprocess.run([client, "auth", "config", "set", "base-url", quiet.url], env=told, check=True, timeout=60)
    terminal = pexpect.spawn(client, ["auth", "config"], env=told, timeout=60, encoding="utf-8", dimensions=(40, 160))
    terminal.expect_exact(f"Base URL: {quiet.url}")
    terminal.expect_exact("API key: ")
    terminal.send(quiet.key + "\r")
    terminal.expect_exact(quiet.project)
    terminal.send("\r")
    terminal.expect_exact("Saved key check: authentication_confirmed")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    done = subprocess.run(
        [client, "auth", "status", "--check", "--json"], env=told, capture_output=True, text=True, timeout=60
    )
    assert document(done)["check"] == "access_confirmed"


@pytest.mark.timeout(900)
def test_a_live_run_trains_and_its_jobs_are_found(tmp_path: Path) -> None:
    vendor.client()
    with Served(tmp_path / "home") as server:
        start = {"run": "live-1", "brief": "Carry.", "rounds": 1, "limits": {"model_usd_cap": 1, **SIZES}}
        answer = server.post("/v1/agent-runs/rsi/runs", start)
        assert (answer.status_code, answer.json()["mode"]) == (201, "live"), answer.text
        followed = el(server, tmp_path, "job", "run", "live", "live-1", "--follow")
        assert followed.returncode == 0, followed.stderr
        assert followed.stdout.splitlines()[-1] == "state: finished", followed.stdout + server.logs[-3000:]
        (row,) = document(el(server, tmp_path, "job", "run", "list", "--json"))["items"]
        assert (row["run"], row["latest_round"], row["base_model"]) == ("live-1", 1, "nano")
        assert row["trainings"]["total"] >= 1
        run = document(el(server, tmp_path, "job", "run", "get", "live-1", "--json"))
        job = run["rounds"][-1]["jobs"][0]["train_job_id"]
        assert "[runtime] checkpoint " in el(server, tmp_path, "job", "log", job).stdout
        (checkpoint,) = document(el(server, tmp_path, "checkpoint", "list", "--job-id", job, "--json"))["items"]
        target = tmp_path / "weights"
        done = el(server, tmp_path, "checkpoint", "download", checkpoint["tinker_path"], str(target), "--job-id", job)
        assert document(done)["downloaded"]
        assert [file.name for file in target.rglob("*.safetensors")]


@pytest.mark.timeout(900)
def test_a_dry_run_of_a_real_language_model_is_followed_to_its_end(tmp_path: Path) -> None:
    vendor.client()
    with Served(tmp_path / "home") as server, server.installation() as opened, local_model.served(opened) as model:
        start = {"run": "real-1", "brief": "Answer sums rightly.", "domain": "sums", "rounds": 1, "dry_run": True}
        limits = {"model_usd_cap": 1, **FEW}
        answer = server.post("/v1/agent-runs/rsi/runs", start | {"student_model": model, "limits": limits})
        assert answer.status_code == 201, answer.text
        followed = el(server, tmp_path, "job", "run", "live", "real-1", "--follow")
        assert followed.returncode == 0, followed.stderr
        assert followed.stdout.splitlines()[-1] == "state: finished", followed.stdout + server.logs[-3000:]
        assert "final gate: " in followed.stdout
