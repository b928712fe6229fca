"""Train jobs as callers use them: submit once, see one's own, page through all of them, stop."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lost_answers import lose_answers
from sqlalchemy import Connection
from submitting import ALICE, OTHER, WORK, caller, put, request, row, rows

from everloop.errors import (
    AccessDenied,
    EverloopError,
    IdempotencyConflict,
    InvalidCursor,
    InvalidLimit,
    InvalidRequest,
    JobNotFound,
    StateConflict,
    StoreUnavailable,
)
from everloop.paths import Home
from everloop.service import jobs, training_models
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.settings import Settings
from everloop.store import jobs as stored
from everloop.store.database import Database

LABELS = {"agent_run": "g-1", "rsi_run": "shadow", "agent_round": "2", "source": "test"}


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    settings = Settings(home=tmp_path / "home", database_url=database.url)
    return Installation(settings, database, Home(settings.home).create())


def everything(place: Installation, limit: int, **filters: Any) -> list[str]:
    """Ids of every page, as a client walks them."""
    found: list[str] = []
    cursor = None
    while True:
        page = jobs.listing(place, ALICE, limit=limit, cursor=cursor, **filters)
        found += [str(one["job_id"]) for one in page.items]
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor


def test_a_submitted_job_waits_and_keeps_its_rows_and_not_in_the_store(place: Installation) -> None:
    told = jobs.submit(place, request(), ALICE)
    kept = row(place, str(told["job_id"]))
    assert (told["status"], told["type"], kept.spec and kept.spec["rows"]) == ("pending", "train", 4)
    file = place.home.job(kept.job_id).inputs / "rows.jsonl"
    assert len(file.read_text().splitlines()) == 4 and file.stat().st_mode & 0o777 == 0o600


def test_labels_come_back_as_labels_and_as_user_metadata_wherever_they_stood(place: Installation) -> None:
    inside = jobs.submit(place, request(spec_labels=LABELS), ALICE)
    outside = jobs.submit(place, request(labels=LABELS), ALICE)
    for told in (inside, outside):
        training = told["training"]
        assert isinstance(training, dict) and training["labels"] == training["user_metadata"] == LABELS


def test_metadata_of_the_session_groups_before_the_labels_do(place: Installation) -> None:
    told = jobs.submit(place, request(labels=LABELS, user_metadata={"rsi_run": "session"}), ALICE)
    training = told["training"]
    assert isinstance(training, dict)
    assert training["labels"] == LABELS and training["user_metadata"] == {"rsi_run": "session"}


def test_nothing_at_the_top_hides_what_the_training_says(place: Installation) -> None:
    told = jobs.submit(place, request(labels=LABELS), ALICE)
    training = told["training"]
    assert isinstance(training, dict)
    flat = {**training, **told}
    assert all(flat[name] == training[name] for name in training) and None not in told.values()
    assert not {"operation_id", "skipped"} & set(flat) and isinstance(flat["model_ids"], list)


def test_the_same_request_id_with_the_same_request_is_the_same_job(place: Installation) -> None:
    first = jobs.submit(place, request(request_id="r-1"), ALICE)
    assert jobs.submit(place, request(request_id="r-1"), ALICE)["job_id"] == first["job_id"]
    assert len(everything(place, 100)) == 1


@pytest.mark.parametrize("change", [{"labels": {"agent_round": "7"}}, {"spec_steps": 21}, {"spec_rows": rows(5)}])
def test_the_same_request_id_with_another_request_is_a_conflict(place: Installation, change: dict[str, Any]) -> None:
    jobs.submit(place, request(request_id="r-1"), ALICE)
    with pytest.raises(IdempotencyConflict):
        jobs.submit(place, request(request_id="r-1", **change), ALICE)


def test_a_request_id_is_its_projects_own(place: Installation) -> None:
    mine = jobs.submit(place, request(request_id="r-1"), ALICE)
    assert jobs.submit(place, request(request_id="r-1", spec_seed=5), OTHER)["job_id"] != mine["job_id"]


def test_the_same_request_at_once_from_many_sides_makes_one_job(place: Installation) -> None:
    found: list[str] = []
    asking = [
        threading.Thread(target=lambda: found.append(str(jobs.submit(place, request(request_id="r"), ALICE)["job_id"])))
        for _ in range(6)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1
    assert len(list((place.home.root / "jobs").iterdir())) == 1


def test_a_full_queue_refuses_and_leaves_no_rows_behind(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WAITING", 1)
    jobs.submit(place, request(), ALICE)
    with pytest.raises(StateConflict, match="queue"):
        jobs.submit(place, request(), ALICE)
    assert len(list((place.home.root / "jobs").iterdir())) == 1


@pytest.mark.parametrize("request_id", [None, "r-1"])
def test_a_submission_whose_answer_was_lost_is_one_job_that_keeps_its_rows(
    place: Installation, monkeypatch: pytest.MonkeyPatch, request_id: str | None
) -> None:
    monkeypatch.setattr(jobs, "WAITING", 1)
    lose_answers(place.database, monkeypatch)
    told = jobs.submit(place, request(request_id=request_id), ALICE)
    assert everything(place, 100) == [told["job_id"]]
    assert (place.home.job(str(told["job_id"])).inputs / "rows.jsonl").is_file()


def test_a_submission_that_may_be_recorded_keeps_its_rows(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    place.database.patience = 0.0
    lose_answers(place.database, monkeypatch)
    with pytest.raises(StoreUnavailable):
        jobs.submit(place, request(), ALICE)
    (job_id,) = everything(place, 100)
    assert (place.home.job(job_id).inputs / "rows.jsonl").is_file()


def test_two_submissions_at_once_do_not_both_get_the_last_place(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WAITING", 1)
    count, done = stored.waiting, list[str]()

    def slow(tx: Connection, project_id: str) -> int:
        found = count(tx, project_id)
        time.sleep(0.3)
        return found

    def submit() -> None:
        try:
            done.append(str(jobs.submit(place, request(), ALICE)["job_id"]))
        except StateConflict:
            return

    monkeypatch.setattr(stored, "waiting", slow)
    asking = [threading.Thread(target=submit) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert everything(place, 100) == done and len(done) == 1


@pytest.mark.parametrize("missing", [Permission.READ, Permission.STOP])
def test_stopping_needs_to_read_and_to_stop(place: Installation, missing: Permission) -> None:
    (job_id,) = put(place)
    with pytest.raises(AccessDenied):
        jobs.stop(place, job_id, replace(ALICE, permissions=WORK - {missing}))
    assert row(place, job_id).state == "pending"


@pytest.mark.parametrize("missing", [Permission.READ, Permission.RUN])
def test_submitting_needs_to_read_and_to_run(place: Installation, missing: Permission) -> None:
    with pytest.raises(AccessDenied):
        jobs.submit(place, request(), replace(ALICE, permissions=WORK - {missing}))


def test_a_job_of_another_project_is_as_unknown_as_one_that_is_not_there(place: Installation) -> None:
    job_id = str(jobs.submit(place, request(), ALICE)["job_id"])
    for look in (jobs.get, jobs.result, jobs.logs, jobs.stop):
        with pytest.raises(JobNotFound) as theirs:
            look(place, job_id, OTHER)
        with pytest.raises(JobNotFound) as none:
            look(place, "job_none", OTHER)
        assert theirs.value.message.replace(job_id, "X") == none.value.message.replace("job_none", "X")
    assert jobs.listing(place, OTHER).items == [] and len(jobs.listing(place, LOCAL).items) == 1


def test_a_workspace_of_the_same_project_name_sees_nothing(place: Installation) -> None:
    job_id = str(jobs.submit(place, request(), ALICE)["job_id"])
    with pytest.raises(JobNotFound):
        jobs.get(place, job_id, replace(ALICE, workspace_id="elsewhere"))


def test_more_than_a_hundred_jobs_are_paged_once_each_even_of_one_moment(place: Installation) -> None:
    same = put(place, 60, created_at="2026-01-01T00:00:00.000000Z")
    more = put(place, 65, created_at="2026-01-02T00:00:00.000000Z")
    put(place, 3, project="q")
    for limit in (100, 7):
        found = everything(place, limit)
        assert found == sorted(more, reverse=True) + sorted(same, reverse=True)


@pytest.mark.parametrize(("word", "state", "stop"), [
    ("pending", "pending", False), ("running", "running", False), ("stopping", "running", True),
    ("completed", "completed", False), ("failed", "failed", False), ("failed", "timeout", False),
    ("failed", "lost", False), ("cancelled", "cancelled", True),
])  # fmt: skip
def test_every_state_has_its_word_and_the_filter_agrees(place: Installation, word: str, state: str, stop: bool) -> None:
    (job_id,) = put(place, state=state, stop_requested=stop)
    assert jobs.get(place, job_id, ALICE)["status"] == word
    for one in stored.STATUSES:
        assert everything(place, 10, status=one) == ([job_id] if one == word else [])


def test_other_types_of_jobs_make_an_empty_page_and_other_words_are_refused(place: Installation) -> None:
    put(place)
    assert jobs.listing(place, ALICE, type="agent").items == [] and len(everything(place, 5, type="train")) == 1
    with pytest.raises(InvalidRequest):
        jobs.listing(place, ALICE, status="SUCCEEDED")
    for limit in (0, 101, True):
        with pytest.raises(InvalidLimit):
            jobs.listing(place, ALICE, limit=limit)
    with pytest.raises(InvalidCursor):
        jobs.listing(place, ALICE, cursor="nonsense")


def test_a_waiting_job_is_stopped_at_once_and_an_ended_one_stays(place: Installation) -> None:
    job_id = str(jobs.submit(place, request(), ALICE)["job_id"])
    assert jobs.stop(place, job_id, ALICE)["status"] == "cancelled"
    (done,) = put(place, state="completed")
    assert jobs.stop(place, done, ALICE)["status"] == "completed"


def test_a_running_job_is_stopping_until_a_worker_has_stopped_it(place: Installation) -> None:
    (job_id,) = put(place, state="running", host="elsewhere")
    assert jobs.stop(place, job_id, ALICE)["status"] == "stopping"


def test_stopping_needs_its_permission(place: Installation) -> None:
    (job_id,) = put(place)
    with pytest.raises(AccessDenied):
        jobs.stop(place, job_id, caller(permissions=WORK - {Permission.STOP}))
    assert row(place, job_id).state == "pending"


def of_a_run(place: Installation, state: str = "running") -> str:
    labels = {"rsi_run": "r-1", "rsi_round": "2", "rsi_purpose": "candidate", "source": "everloop"}
    with place.database.write() as tx:
        stored.put(tx, "r-1", "r2c1-a1", round=2, purpose="candidate", method="sft", labels=dict(labels),
                   digest="d", launcher="local", reserved_micros=0)  # fmt: skip
        stored.update(tx, "r-1", "r2c1-a1", state=state, workspace_id="w", project_id="p")
        found = stored.get(tx, "r-1", "r2c1-a1")
    assert found is not None
    return found.job_id


def test_a_job_of_a_run_is_listed_and_cannot_be_stopped_alone(place: Installation) -> None:
    job_id = of_a_run(place)
    (told,) = jobs.listing(place, ALICE).items
    training = told["training"]
    assert isinstance(training, dict) and isinstance(training["user_metadata"], dict)
    assert (told["run"], training["user_metadata"]["agent"]) == ("r-1", "everloop")
    with pytest.raises(StateConflict, match="belongs to run r-1"):
        jobs.stop(place, job_id, ALICE)


def test_a_failed_job_tells_its_reason(place: Installation) -> None:
    (job_id,) = put(place, state="timeout", reason="killed at its time limit", seconds=60.0)
    told = jobs.result(place, job_id, ALICE)
    assert told["error"] == {"code": "JOB_FAILED", "message": "killed at its time limit"}
    assert isinstance(told["result"], dict) and told["result"]["checkpoint"] is None


def test_the_models_that_can_be_trained_are_told_with_their_defaults(place: Installation) -> None:
    items = {str(one["base_model"]): one for one in training_models.listing(place, ALICE).items}
    assert "nano" in items and "synthetic" not in items
    assert items["nano"]["defaults"] == {
        "fresh": {"steps": 500, "batch_size": 128, "learning_rate": 3e-3},
        "from_parent": {"steps": 500, "batch_size": 128, "learning_rate": 2e-3},
    }


def test_reading_needs_its_permission(place: Installation) -> None:
    nobody = caller(permissions=frozenset())
    (job_id,) = put(place)
    looks: list[Any] = [
        lambda: jobs.listing(place, nobody), lambda: jobs.get(place, job_id, nobody),
        lambda: jobs.result(place, job_id, nobody), lambda: jobs.logs(place, job_id, nobody),
        lambda: training_models.listing(place, nobody),
    ]  # fmt: skip
    for look in looks:
        with pytest.raises(AccessDenied):
            look()


def test_errors_have_the_codes_of_the_contract() -> None:
    codes: dict[type[EverloopError], tuple[str, int]] = {
        IdempotencyConflict: ("TRAIN_JOB_IDEMPOTENCY_CONFLICT", 409), JobNotFound: ("JOB_NOT_FOUND", 404),
        StateConflict: ("CONFLICT", 409),
    }  # fmt: skip
    assert {kind: (kind.code, kind.status) for kind in codes} == codes
