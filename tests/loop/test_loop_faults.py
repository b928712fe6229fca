"""Whatever goes wrong: a clear error and an event, nothing lost; the run pauses or the candidate is rejected."""

from __future__ import annotations

import resource
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from harness import carry, events, finish, installation, request, worker

from everloop.service import run_control, run_start, runs
from everloop.service.installation import Installation

OPTIONS = {"trainer": "synthetic-faulty", "launcher": "local-with-plugins", "seed": 4}


def faulty(home: Path, fault: str, **settings: Any) -> Installation:
    home.mkdir(exist_ok=True)
    (home / "FAULT").write_text(fault)
    return installation(home, **settings)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("crash", "SIGSEGV"),
        ("raise", "no such optimiser"),
        ("nan", "the loss is nan"),
        ("exit", "CHECKPOINT_CORRUPT"),
        ("corrupt", "CHECKPOINT_CORRUPT"),
        ("mute", "EVALUATION_FAILED"),
    ],
)
def test_a_training_that_fails_rejects_its_candidate(tmp_path: Path, fault: str, said: str) -> None:
    place = faulty(tmp_path, fault)
    document = carry(place, request(rounds=1, options=OPTIONS))
    (candidate,) = document["rounds"][0]["candidates"]
    assert document["state"] == "finished"
    assert (candidate["decision"], candidate["screen"]) == ("error", None)
    assert said in candidate["reasons"][0]
    assert document["best_version"] == "v0"
    assert any(event["kind"] == "error" and said in event["text"] for event in events(place, "t-1"))


def test_a_training_that_hangs_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    place = faulty(tmp_path, "hang", job_time_limit_seconds=3.0)
    document = carry(place, request(rounds=1, options=OPTIONS))
    (candidate,) = document["rounds"][0]["candidates"]
    assert candidate["decision"] == "error"
    assert "time limit" in candidate["reasons"][0]
    assert {job["state"] for job in runs.live(place, "t-1")["jobs"]} == {"completed", "timeout"}


def test_an_incumbent_that_does_not_answer_pauses_the_run(tmp_path: Path) -> None:
    place = faulty(tmp_path, "mute-all")
    paused = carry(place, request(rounds=1, options=OPTIONS))
    assert (paused["state"], paused["error"]["code"]) == ("paused", "INCUMBENT_UNAVAILABLE")
    (tmp_path / "FAULT").unlink()
    assert run_control.resume(place, "t-1")["state"] == "running"
    done = finish(place, "t-1")
    assert (done["state"], done["error"]) == ("finished", None)


def test_a_corrupt_incumbent_pauses_the_run_and_names_the_checkpoint(tmp_path: Path) -> None:
    place = installation(tmp_path)
    carry(place, request(rounds=1, options={"operator": "useless"}))
    (base,) = (tmp_path / "runs" / "t-1" / "checkpoints" / "base").glob("weights*")
    good = base.read_bytes()
    base.write_bytes(b"x" + good)
    run_control.extend(place, "t-1", 2)
    paused = finish(place, "t-1")
    assert (paused["state"], paused["error"]["code"]) == ("paused", "INCUMBENT_UNAVAILABLE")
    assert "hash" in paused["error"]["message"]
    base.write_bytes(good)
    run_control.resume(place, "t-1")
    assert finish(place, "t-1")["state"] == "finished"


def test_a_full_disk_pauses_the_run_and_resume_goes_on(tmp_path: Path, postgres: Any) -> None:
    place = installation(tmp_path, postgres.fresh())
    run_start.start(place, request(rounds=1))
    process = worker(place, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)))
    process.wait(60)
    paused = runs.document(place, "t-1")
    assert (paused["state"], paused["error"]["code"]) == ("paused", "STORAGE_FULL")
    assert any(event["kind"] == "error" for event in events(place, "t-1"))
    assert list((tmp_path / "runs" / "t-1" / "rows").iterdir()) == []
    run_control.resume(place, "t-1")
    assert finish(place, "t-1")["state"] == "finished"


def test_a_job_that_finds_the_disk_full_is_tried_again_after_resume(tmp_path: Path) -> None:
    place = faulty(tmp_path, "full")
    paused = carry(place, request(rounds=1, options=OPTIONS))
    assert (paused["state"], paused["error"]["code"]) == ("paused", "STORAGE_FULL")
    (tmp_path / "FAULT").unlink()
    run_control.resume(place, "t-1")
    document = finish(place, "t-1")
    assert document["state"] == "finished"
    assert document["rounds"][0]["candidates"][0]["decision"] != "error"


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    place = installation(tmp_path)
    released = threading.Event()

    def hold() -> None:
        other = sqlite3.connect(tmp_path / "everloop.db", isolation_level=None, timeout=30)
        for _ in range(4):
            other.execute("BEGIN IMMEDIATE")
            time.sleep(0.8)
            other.execute("COMMIT")
            time.sleep(0.05)
        other.close()
        released.set()

    holder = threading.Thread(target=hold)
    holder.start()
    document = carry(place, request(rounds=2))
    holder.join()
    assert released.is_set()
    assert document["state"] == "finished"
    seqs = [event["seq"] for event in events(place, "t-1")]
    assert seqs == list(range(1, len(seqs) + 1))
