"""The OpenAPI document: every schema is sound, every example and every real document fits its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from calling import Api
from carrying import RUNS, Carried, job, start
from conforming import conform
from jsonschema import Draft202012Validator, ValidationError

from everloop.api import documents, documents_jobs
from everloop.service import job_request

REF = re.compile(r'"#/components/schemas/(\w+)"')


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def behind_a_key(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, operation) for name, operation in operations(document) if operation.get("security"))


@pytest.mark.parametrize("name", sorted(documents.SCHEMAS))
def test_a_schema_is_sound_and_closed(name: str) -> None:
    schema = documents.SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert "anyOf" in schema or schema["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted(documents.EXAMPLES))
def test_an_example_fits_its_schema(name: str) -> None:
    conform(name, documents.EXAMPLES[name])


def test_every_reference_leads_to_a_schema_and_every_schema_is_used(shared: Api) -> None:
    document = shared.app.openapi()
    schemas = document["components"]["schemas"]
    assert set(REF.findall(json.dumps(document))) == set(schemas)


def test_operations_are_named_like_their_functions_and_each_once(shared: Api) -> None:
    names = [operation["operationId"] for _, operation in operations(shared.app.openapi())]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


def test_every_answer_and_every_body_has_an_example(shared: Api) -> None:
    lacking = [
        f"{name}: {status}"
        for name, operation in behind_a_key(shared.app.openapi())
        for status, answer in operation["responses"].items()
        for kind, content in answer.get("content", {}).items()
        if kind == "application/json" and "example" not in content
    ]
    bodies = [
        name
        for name, operation in behind_a_key(shared.app.openapi())
        if "requestBody" in operation and "example" not in operation["requestBody"]["content"]["application/json"]
    ]
    assert (lacking, bodies) == ([], [])


def test_every_example_of_a_body_fits_the_schema_beside_it(shared: Api) -> None:
    for name, operation in behind_a_key(shared.app.openapi()):
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            errors = [
                error.message for error in Draft202012Validator(content["schema"]).iter_errors(content["example"])
            ]
            assert errors == [], name


def test_every_route_behind_a_key_says_how_it_refuses(shared: Api) -> None:
    for name, operation in behind_a_key(shared.app.openapi()):
        assert {"401", "403", "404", "429", "503"} <= set(operation["responses"]), name


def test_every_route_and_parameter_is_described(shared: Api) -> None:
    for name, operation in operations(shared.app.openapi()):
        assert operation["description"], name
        assert all(one.get("description") for one in operation.get("parameters", [])), name


@pytest.mark.parametrize("run", ["live-1", "dry-1", "waits-1"])
def test_real_runs_fit_the_schemas(carried: Carried, run: str) -> None:
    api, key = carried.api, carried.key
    detail = api.get(f"{RUNS}/{run}", key=key).json
    conform("RunDetail", detail)
    conform("History", api.get(f"{RUNS}/{run}/history", key=key).json)
    conform("RunSummary", api.get(f"{RUNS}/{run}?compact=true", key=key).json)
    conform("LiveView", api.get(f"{RUNS}/{run}/live", key=key).json)
    for one in detail["rounds"]:
        conform("Round", api.get(f"{RUNS}/{run}/rounds/{one['round']}", key=key).json)


def test_a_finished_run_has_what_the_schemas_are_about(carried: Carried) -> None:
    api, key = carried.api, carried.key
    detail = api.get(f"{RUNS}/live-1", key=key).json
    live = api.get(f"{RUNS}/live-1/live", key=key).json
    filled = ("versions", "gates", "reviews", "rounds", "directives", "steps")
    assert [name for name in filled if not detail[name]] == []
    assert live["jobs"] and live["events"] and live["steers"]


def test_the_list_of_runs_fits_its_schema(carried: Carried) -> None:
    api, key = carried.api, carried.key
    shown = api.get(RUNS, key=key).json
    conform("Runs", shown)
    assert len(shown["items"]) >= 3


def test_a_key_that_no_schema_knows_is_noticed() -> None:
    with pytest.raises(AssertionError, match="surprise"):
        conform("Steer", {**documents.EXAMPLES["Steer"], "surprise": 1})
    with pytest.raises(AssertionError, match="gpu_usd"):
        conform("Spend", {"model_usd": 0, "total_usd": 0, "model_requests": 0, "student_requests": 0})


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/job?type=train", "Jobs"),
        ("/v1/job/{job}", "Job"),
        ("/v1/job/{job}/result", "JobResult"),
        ("/v1/job/{job}/logs", "JobLog"),
        ("/v1/job/checkpoints", "Checkpoints"),
        ("/v1/job/training-models", "TrainingModels"),
        ("/v1/trials", "Trials"),
        ("/v1/trials/{trial}", "Trial"),
        ("/v1/trials/{trial}/result", "TrialResult"),
        ("/v1/trials/{trial}/snapshot", "TrialSnapshot"),
        ("/v1/trials/{trial}/artifacts", "TrialArtifacts"),
        ("/v1/samples?week={week}", "Sample"),
    ],
)
def test_real_documents_of_jobs_fit_the_schemas(carried: Carried, path: str, name: str) -> None:
    api, key, job_id = carried.api, carried.key, carried.job_id
    week = "2020-W01"
    trial = job_id.replace("job_", "trial_")
    answer = api.get(path.format(job=job_id, trial=trial, week=week), key=key)
    assert answer.status == 200
    conform(name, answer.json)


def test_what_the_schema_of_a_submission_lets_through_the_service_takes() -> None:
    for body in (documents_jobs.SUBMITTED, job()):
        Draft202012Validator(documents_jobs.SUBMISSION).validate(body)
        assert job_request.TrainJobRequest.from_json(body).row_count == len(body["spec"]["rows"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "inference"},
        {"surprise": 1},
        {"request_id": ""},
        {"spec": {"rows": []}},
        {"spec": {"base_model": "gpt"}},
        {"spec": {"steps": 0}},
        {"spec": {"learning_rate": 2}},
        {"spec": {"parent": "file:///etc/passwd"}},
        {"spec": {"rows": [{"family": "s1", "prompt": "", "completion": "1"}]}},
    ],
)
def test_what_it_refuses_the_service_refuses_too(wrong: dict[str, Any]) -> None:
    body = job(**wrong)
    with pytest.raises(ValidationError):
        Draft202012Validator(documents_jobs.SUBMISSION).validate(body)
    with pytest.raises(job_request.InvalidTrainJobSpec.__mro__[1]):
        job_request.TrainJobRequest.from_json(body)


def test_a_run_that_cannot_be_read_fits_the_schemas_and_hides_no_other(api: Api) -> None:
    for run in ("good", "bad"):
        assert api.post(RUNS, key=api.key(), json=start(run)).status == 201
    with api.place.database.write() as tx:
        tx.exec_driver_sql("update runs set owner = '{', protocol = '{' where run = 'bad'")
    shown = api.get(RUNS, key=api.key())
    conform("Runs", shown.json)
    assert {one["run"]: one["state"] for one in shown.json["items"]} == {"good": "starting", "bad": "unreadable"}
    for name, query in (("UnreadableRun", ""), ("UnreadableRow", "?compact=true"), ("UnreadableLive", "/live?since=3")):
        answer = api.get(f"{RUNS}/bad{query}", key=api.key())
        assert answer.status == 200
        conform(name, answer.json)
    for path in ("history", "rounds/1"):
        refused = api.get(f"{RUNS}/bad/{path}", key=api.key())
        assert (refused.status, refused.code) == (409, "RSI_CONFLICT")
    assert api.post(f"{RUNS}/bad/control", key=api.key(), json={"action": "stop"}).status == 409
