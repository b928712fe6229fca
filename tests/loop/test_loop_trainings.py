"""Submitted jobs under real workers: each starts once and ends, whatever becomes of the worker."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from harness import installation, log_of, worker
from submitting import put, request, row, rows

from everloop.loop import trainings
from everloop.loop.context import Means
from everloop.loop.trainings import Trainings
from everloop.paths import JobPaths
from everloop.remote.launchers import process_tree
from everloop.remote.launchers.base import JobSpec
from everloop.service import checkpoints, jobs
from everloop.service.installation import Installation
from everloop.store import jobs as stored
from everloop.store import workers
from everloop.store.jobs import JobRow

ENDED = ("completed", "failed", "timeout", "cancelled", "lost")


def cheap(**changes: object) -> dict[str, object]:
    """A job of the synthetic student: it trains nothing, and takes as long as the installation says."""
    data = [{"family": "easy", "prompt": "easy:1", "completion": "1"}]
    return request(spec_base_model="synthetic-job", spec_rows=data, **changes)


def submit(place: Installation, document: dict[str, object]) -> str:
    return str(jobs.submit(place, document)["job_id"])  # type: ignore[arg-type]


def until(place: Installation, true: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, log_of(place)
        time.sleep(0.05)


def finish(place: Installation, *job_ids: str, workers: int = 1) -> list[JobRow]:
    """Let workers drain the queue."""
    at_work = [worker(place) for _ in range(workers)]
    try:
        for one in at_work:
            one.wait(120)
    finally:
        kill(*at_work)
    return [row(place, job_id) for job_id in job_ids]


def kill(*processes: subprocess.Popen[bytes]) -> None:
    for one in processes:
        one.kill()
        one.wait()


def starts(place: Installation, job_id: str) -> int:
    """How often the job was started, as the workers' log tells."""
    return (place.home.root / "worker.log").read_text().count(f"job {job_id} started")


def keeper(place: Installation, job_id: str) -> Path:
    return place.home.job(job_id).keeper


def test_a_nano_job_really_trains_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    job_id = submit(place, request(spec_rows=rows(40), spec_batch_size=16))
    (done,) = finish(place, job_id)
    assert done.state == "completed", done.reason
    told = jobs.result(place, job_id)
    assert (told["status"], told["training"]["settings"]["steps"]) == ("completed", 20)  # type: ignore[index, call-overload]
    (item,) = checkpoints.listing(place).items
    manifest = json.loads((place.home.job(job_id).outputs / "checkpoint" / "manifest.json").read_text())
    assert manifest["rows"] == 40 and item["files"][1]["sha256"] == manifest["weights_sha256"]  # type: ignore
    log = jobs.logs(place, job_id)
    assert log["eof"] and [one.get("phase") for one in log["items"]] == ["accepted", "started", None, "ended"]  # type: ignore

    child = submit(place, request(spec_rows=rows(8), spec_parent=item["tinker_path"]))
    (after,) = finish(place, child)
    manifest_after = json.loads((place.home.job(child).outputs / "checkpoint" / "manifest.json").read_text())
    assert after.state == "completed" and manifest_after["parent_sha256"] == manifest["weights_sha256"]


def test_a_killed_worker_leaves_a_job_that_ends_and_was_started_once(tmp_path: Path) -> None:
    place = installation(tmp_path / "home", synthetic_seconds=3.0)
    job_id = submit(place, cheap())
    first = worker(place, drain=False)
    until(place, keeper(place, job_id).exists)
    kept = json.loads(keeper(place, job_id).read_text())
    kill(first)
    assert row(place, job_id).state == "running"
    (done,) = finish(place, job_id)
    assert done.state == "completed", done.reason
    assert json.loads(keeper(place, job_id).read_text()) == kept
    assert starts(place, job_id) <= 1


def test_a_worker_killed_at_any_moment_of_the_launch_starts_it_once(tmp_path: Path) -> None:
    place = installation(tmp_path / "home", synthetic_seconds=0.5)
    job_id = submit(place, cheap())
    for pause in (0.0, 0.05, 0.2):
        process = worker(place, drain=False)
        until(place, lambda: row(place, job_id).state != "pending")
        time.sleep(pause)
        kill(process)
    (done,) = finish(place, job_id)
    assert done.state == "completed", done.reason
    assert starts(place, job_id) <= 1


def test_two_workers_start_each_job_once_and_keep_to_the_places_there_are(database_url: str, tmp_path: Path) -> None:
    place = installation(tmp_path / "home", database_url, synthetic_seconds=0.4)
    made = [submit(place, cheap(spec_seed=seed)) for seed in range(5)]
    at_work = [worker(place), worker(place)]
    most = 0
    try:
        while any(one.poll() is None for one in at_work):
            with place.database.read() as tx:
                most = max(most, len(stored.submitted(tx, "running")))
            time.sleep(0.05)
    finally:
        kill(*at_work)
    assert [row(place, job_id).state for job_id in made] == ["completed"] * 5, log_of(place)
    assert [starts(place, job_id) for job_id in made] == [1] * 5 and 1 <= most <= trainings.AT_ONCE


def test_a_running_job_is_stopped_with_its_process(tmp_path: Path) -> None:
    place = installation(tmp_path / "home", synthetic_seconds=60.0)
    job_id = submit(place, cheap())
    process = worker(place)
    try:
        until(place, keeper(place, job_id).exists)
        assert jobs.stop(place, job_id)["status"] in {"stopping", "cancelled"}
        until(place, lambda: row(place, job_id).state in ENDED)
        process.wait(30)
    finally:
        kill(process)
    done = row(place, job_id)
    assert (done.state, done.stop_requested) == ("cancelled", True)
    until(place, lambda: not process_tree.remnants(str(place.home.job(job_id).root.resolve())), 10)


def test_a_job_that_was_taken_and_stopped_before_its_launch_never_starts(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    job_id = submit(place, cheap())
    with place.database.write() as tx:
        assert stored.take(tx, job_id, trainings.platform.node(), 2)
    jobs.stop(place, job_id)
    (done,) = finish(place, job_id)
    assert done.state == "cancelled" and not keeper(place, job_id).exists()


def test_rows_that_were_changed_are_not_trained_on_and_keep_no_other_job_waiting(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    bad, good = submit(place, cheap()), submit(place, cheap(spec_seed=2))
    (place.home.job(bad).inputs / "rows.jsonl").write_text("{}\n")
    changed, done = finish(place, bad, good)
    assert (changed.state, done.state) == ("failed", "completed")
    assert "not those that were submitted" in str(changed.reason) and not keeper(place, bad).exists()


def test_a_training_that_fails_tells_why_in_result_and_log(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    job_id = submit(place, request(spec_rows=[{"family": "f", "prompt": "what?", "completion": "2"}]))
    (done,) = finish(place, job_id)
    assert done.state == "failed" and "nothing this student can learn" in str(done.reason)
    ended = jobs.logs(place, job_id)["items"][-1]  # type: ignore[index, call-overload]
    assert "ended failed" in str(ended["content"]) and jobs.get(place, job_id)["status"] == "failed"  # type: ignore


def test_a_job_past_its_time_limit_is_killed_and_has_failed(tmp_path: Path) -> None:
    place = installation(tmp_path / "home", synthetic_seconds=60.0, job_time_limit_seconds=0.5)
    job_id = submit(place, cheap())
    (done,) = finish(place, job_id)
    assert done.state == "timeout" and jobs.get(place, job_id)["status"] == "failed"


@pytest.mark.parametrize(("age", "state"), [("2020-01-01T00:00:00.000000Z", "lost"), (None, "running")])
def test_a_job_of_a_host_that_is_gone_is_lost_only_long_after_its_limit(
    tmp_path: Path, age: str | None, state: str
) -> None:
    place = installation(tmp_path / "home")
    columns = {"updated_at": age} if age else {}
    (job_id,) = put(place, state="running", host="another-host", **columns)
    finish(place)
    assert row(place, job_id).state == state


def test_a_waiting_job_whose_rows_are_elsewhere_is_left_to_its_host(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    (elsewhere,), here = put(place), submit(place, cheap())
    finish(place)
    assert (row(place, elsewhere).state, row(place, here).state) == ("pending", "completed")


def test_a_hundred_jobs_whose_rows_are_elsewhere_keep_none_of_here_waiting(tmp_path: Path) -> None:
    place = installation(tmp_path / "home")
    elsewhere = put(place, trainings.LOOKED_AT + 20)
    here = submit(place, cheap())
    finish(place)
    assert (row(place, here).state, row(place, elsewhere[0]).state) == ("completed", "pending")


def looking(place: Installation) -> Trainings:
    """The submitted jobs as a worker of this process sees them."""
    with place.database.write() as tx:
        epoch = workers.register(tx, "here", 1)
    return Trainings(Means(place.settings, place.database, epoch, cast(Any, None), cast(Any, None)))


def test_a_waiting_job_whose_rows_no_host_has_said_to_have_for_long_has_failed(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = installation(tmp_path / "home", database_url)
    monkeypatch.setattr(trainings, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "ABSENT_SECONDS", 0.2)
    monkeypatch.setattr(trainings, "IDLE_SECONDS", 0.0)
    nobodys, kept = put(place, 2)
    looks = looking(place)
    for _ in range(4):
        with place.database.write() as tx:
            stored.keep(tx, [kept])  # as the host that has them does
        assert looks.look() == 0 and row(place, kept).state == "pending"
        time.sleep(0.1)
    gone = row(place, nobodys)
    assert gone.state == "failed" and "rows are on no machine" in str(gone.reason)


def test_a_host_says_of_all_that_waits_for_it_that_it_has_the_rows(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = installation(tmp_path / "home", database_url)
    monkeypatch.setattr(trainings, "AT_ONCE", 0)
    monkeypatch.setattr(trainings, "LOOKED_AT", 2)
    mine = [submit(place, cheap(spec_seed=seed)) for seed in range(5)]
    (other,) = put(place)
    before = {job_id: row(place, job_id).updated_at for job_id in (*mine, other)}
    looking(place).look()
    assert all(row(place, job_id).updated_at > before[job_id] for job_id in mine)
    assert row(place, other).updated_at == before[other]


def short_of(looks: Trainings, times: int, number: int) -> None:
    """Let the next so many launches find the machine short of something."""
    launch, left = looks._launcher.launch, [times]

    def scarce(paths: JobPaths, spec: JobSpec) -> bool:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(number, os.strerror(number))
        return launch(paths, spec)

    looks._launcher = cast(
        Any, SimpleNamespace(launch=scarce, poll=looks._launcher.poll, cancel=looks._launcher.cancel)
    )


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC])
def test_a_job_that_finds_the_machine_short_is_started_at_a_later_look(tmp_path: Path, number: int) -> None:
    place = installation(tmp_path / "home")
    job_id = submit(place, cheap())
    looks = looking(place)
    short_of(looks, 2, number)
    for _ in range(2):
        assert looks.look() == 1 and row(place, job_id).state == "running"
    until(place, lambda: not looks.look() and row(place, job_id).state in ENDED, 30)
    assert row(place, job_id).state == "completed", row(place, job_id).reason


@pytest.mark.parametrize(("number", "seconds"), [(errno.EACCES, 60.0), (errno.EAGAIN, 0.0)])
def test_a_job_fails_of_what_does_not_pass_and_of_what_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, seconds: float
) -> None:
    place = installation(tmp_path / "home")
    monkeypatch.setattr(trainings, "PASSING_SECONDS", seconds)
    job_id = submit(place, cheap())
    looks = looking(place)
    short_of(looks, 9, number)
    looks.look()
    assert row(place, job_id).state == "failed" and os.strerror(number) in str(row(place, job_id).reason)


def test_a_corrupt_checkpoint_is_no_result(tmp_path: Path) -> None:
    place = installation(tmp_path / "home", synthetic_seconds=2.0)
    job_id = submit(place, cheap())
    process = worker(place, drain=False)
    until(place, keeper(place, job_id).exists)
    kill(process)
    weights = place.home.job(job_id).outputs / "checkpoint" / "weights.json"
    until(place, weights.exists)
    weights.write_text("{}")
    (done,) = finish(place, job_id)
    assert done.state == "failed" and "corrupt" in str(done.reason)
    assert checkpoints.listing(place).items == []
