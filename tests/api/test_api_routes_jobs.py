"""Routes of train jobs: what they take, whom they serve, how they page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from calling import Api
from carrying import Carried, job

from everloop.service.permissions import KeyKind


def submitted(api: Api, **changes: Any) -> dict[str, Any]:
    answer = api.post("/v1/job", key=api.key(), json=job(**changes))
    assert answer.status == 201, answer.text
    return dict(answer.json)


def test_a_submission_is_answered_with_the_job(shared: Api) -> None:
    told = submitted(shared, user_metadata={"agent_run": "g-1"})
    assert (told["status"], told["type"]) == ("pending", "train")
    assert told["training"]["user_metadata"] == {"agent_run": "g-1"}
    assert shared.get(f"/v1/job/{told['job_id']}", key=shared.key()).json == told
    assert "result" in shared.get(f"/v1/job/{told['job_id']}/result", key=shared.key()).json


def test_the_same_request_id_is_the_same_job_and_another_request_a_conflict(shared: Api) -> None:
    first, again = (submitted(shared, request_id="same") for _ in range(2))
    assert first["job_id"] == again["job_id"]
    other = shared.post("/v1/job", key=shared.key(), json=job(request_id="same", spec={"steps": 6}))
    assert (other.status, other.code) == (409, "TRAIN_JOB_IDEMPOTENCY_CONFLICT")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (job(type="inference"), "INVALID_TRAIN_JOB_SPEC"),
        (job(type=None), "INVALID_TRAIN_JOB_SPEC"),
        ({"type": "train"}, "INVALID_TRAIN_JOB_SPEC"),
        ({"type": "train", "trials": []}, "INVALID_TRAIN_JOB_SPEC"),
        ([], "INVALID_TRAIN_JOB_SPEC"),
        (None, "INVALID_TRAIN_JOB_SPEC"),
        (job(spec={"base_model": "gpt"}), "INVALID_TRAIN_JOB_SPEC"),
        (job(spec={"rows": []}), "INVALID_TRAIN_JOB_SPEC"),
        (job(labels=[1]), "INVALID_TRAIN_JOB_METADATA"),
        (job(request_id=""), "INVALID_REQUEST_ID"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(shared: Api, body: Any, code: str) -> None:
    answer = shared.post("/v1/job", key=shared.key(), json=body)
    assert (answer.status, answer.code) == (422, code)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 5000, b'{"type": NaN}'])
def test_what_is_no_json_is_refused(shared: Api, content: bytes) -> None:
    answer = shared.post("/v1/job", key=shared.key(), content=content)
    assert (answer.status, answer.code) == (422, "INVALID_TRAIN_JOB_SPEC")


def test_rows_beyond_what_other_routes_take_are_taken(shared: Api) -> None:
    rows = [{"family": "s1", "prompt": f"s1:{n}", "completion": "x" * 2000} for n in range(1000)]
    assert submitted(shared, spec={"rows": rows})["training"]["rows"] == 1000


def test_a_key_that_only_reads_may_look_but_neither_submit_nor_stop(shared: Api) -> None:
    reads = shared.key(KeyKind.READ_ONLY)
    told = submitted(shared)
    answers = [shared.post("/v1/job", key=reads, json=job()), shared.post(f"/v1/job/{told['job_id']}/stop", key=reads)]
    assert [(one.status, one.code) for one in answers] == [(403, "ACCESS_DENIED")] * 2
    assert shared.get(f"/v1/job/{told['job_id']}", key=reads).status == 200


@pytest.mark.parametrize("path", ["/v1/job", "/v1/job/x", "/v1/job/x/logs", "/v1/job/training-models", "/v1/trials"])
def test_nothing_is_told_without_a_key(shared: Api, path: str) -> None:
    answer = shared.get(path)
    assert (answer.status, answer.code) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("tail", ["", "/result", "/logs"])
def test_a_job_of_another_project_is_as_unknown_as_none(shared: Api, tail: str) -> None:
    told, other = submitted(shared), shared.key(project=shared.project("elsewhere"))
    answers = [shared.get(f"/v1/job/{name}{tail}", key=other) for name in (told["job_id"], "job_none")]
    assert [(one.status, one.code) for one in answers] == [(404, "JOB_NOT_FOUND")] * 2


def test_a_waiting_job_is_stopped_at_once_and_again_is_no_error(shared: Api) -> None:
    told = submitted(shared)
    for _ in range(2):
        answer = shared.post(f"/v1/job/{told['job_id']}/stop", key=shared.key())
        assert (answer.status, answer.json["status"]) == (200, "cancelled")


def test_pages_lead_through_all_jobs_once_on_either_database(database_url: str, tmp_path: Path) -> None:
    with Api(tmp_path / "paged", database_url) as api:
        made = [submitted(api)["job_id"] for _ in range(5)]
        found: list[str] = []
        query = "?limit=2&type=train"
        while True:
            page = api.get(f"/v1/job{query}", key=api.key()).json
            found += [one["job_id"] for one in page["items"]]
            if page["next_cursor"] is None:
                break
            query = f"?limit=2&type=train&cursor={page['next_cursor']}"
        assert found == made[::-1]


def test_one_job_is_listed_without_a_type(shared: Api) -> None:
    submitted(shared)
    assert len(shared.get("/v1/job?limit=1", key=shared.key()).json["items"]) == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "INVALID_LIMIT"),
        ("limit=101", "INVALID_LIMIT"),
        ("limit=x", "INVALID_LIMIT"),
        ("limit=", "INVALID_LIMIT"),
        ("limit=1e2", "INVALID_LIMIT"),
        (f"limit={'9' * 400}", "INVALID_LIMIT"),
        ("cursor=", "INVALID_CURSOR"),
        ("cursor=eA", "INVALID_CURSOR"),
        (f"cursor={'A' * 3000}", "INVALID_CURSOR"),
        ("status=done", "INVALID_RSI_REQUEST"),
    ],
)
def test_a_list_says_what_it_does_not_take(shared: Api, query: str, code: str) -> None:
    answer = shared.get(f"/v1/job?{query}", key=shared.key())
    assert (answer.status, answer.code) == (422, code)


def test_jobs_of_another_type_are_none(shared: Api) -> None:
    assert shared.get("/v1/job?type=inference", key=shared.key()).json["items"] == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=1001", "INVALID_LIMIT"),
        ("tail=0", "INVALID_LIMIT"),
        ("cursor=x", "INVALID_CURSOR"),
        ("source=stderr", "INVALID_RSI_REQUEST"),
    ],
)
def test_a_log_says_what_it_does_not_take(shared: Api, query: str, code: str) -> None:
    told = submitted(shared)
    answer = shared.get(f"/v1/job/{told['job_id']}/logs?{query}", key=shared.key())
    assert (answer.status, answer.code) == (422, code)


def test_a_log_is_followed_to_its_end_by_its_cursor(carried: Carried) -> None:
    path, lines = f"/v1/job/{carried.job_id}/logs", []
    query = "?limit=1"
    for _ in range(100):
        page = carried.api.get(path + query, key=carried.key).json
        lines += [one["id"] for one in page["items"]]
        query = f"?limit=1&cursor={page['next_cursor']}"
        if page["eof"] and not page["has_more"]:
            break
    assert lines[0] == "accepted" and lines[-1] == "ended"
    assert len(set(lines)) == len(lines)


def test_both_prefixes_lead_to_the_same(shared: Api) -> None:
    told = submitted(shared)
    assert shared.get(f"/api/v1/job/{told['job_id']}", key=shared.key()).json == told


def test_a_trial_is_a_job_by_another_name(carried: Carried) -> None:
    trial = carried.job_id.replace("job_", "trial_")
    told = carried.api.get(f"/v1/trials/{trial}", key=carried.key).json
    assert (told["job_id"], told["status"], told["cleanup_confirmed"]) == (carried.job_id, "succeeded", True)
    shown = carried.api.get(f"/v1/trials?job_id={carried.job_id}", key=carried.key).json["items"]
    assert [one["trial_id"] for one in shown] == [trial]


def test_a_trial_s_artifacts_are_its_checkpoint_s_files(carried: Carried) -> None:
    path = f"/v1/trials/{carried.job_id.replace('job_', 'trial_')}/artifacts"
    files = carried.api.get(path, key=carried.key).json["items"]
    assert {one["name"]: one["sha256"] for one in files} == {
        one["name"]: one["sha256"] for one in carried.checkpoint["files"]
    }
    got = carried.api.get(f"{path}/{files[0]['artifact_id']}/content", key=carried.key)
    assert (got.status, len(got.content)) == (200, files[0]["size"])
    missing = carried.api.get(f"{path}/..%2Fjob.log/content", key=carried.key)
    assert missing.status == 404


@pytest.mark.parametrize("tail", ["", "/result", "/snapshot", "/artifacts", "/artifacts/x/content"])
def test_an_unknown_trial_is_not_found(shared: Api, tail: str) -> None:
    assert shared.get(f"/v1/trials/trial_none{tail}", key=shared.key()).status == 404


def test_a_waiting_trial_is_stopped(shared: Api) -> None:
    trial = submitted(shared)["job_id"].replace("job_", "trial_")
    assert shared.post(f"/v1/trials/{trial}/stop", key=shared.key()).json["status"] == "cancelled"
