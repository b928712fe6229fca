"""The whole OpenAPI document against a real server, by a tool that makes up what fits it and what does not.

Each role sends its own requests, at least `LEAST` of them, so that there are more than 5,000 in all. Every check of
the tool is on; what the document cannot say is listed, operation by operation, in ``schemathesis_hooks.REASONS``.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from calling import Api, Session
from carrying import RUNS, drain, job, start
from jsonschema import Draft202012Validator
from schemathesis_hooks import REASONS

from everloop.api import documents_approvals, documents_identity, schemas
from everloop.service import people
from everloop.service.caller import LOCAL
from everloop.service.permissions import KeyKind, Role
from everloop.store import approvals

LEAST = 1200
"""Requests of one role, at least."""
EXAMPLES = 3
"""Requests of an operation that are made up, beside those that walk along the bounds of its schema."""
BOUNDS = "examples,coverage"
EVERYTHING = "examples,coverage,fuzzing,stateful"
EXPECTED = ["2xx", "3xx", "401", "403", "404", "409", "422", "429"]
"""What may come of a request that fits, where the document cannot say everything; elsewhere it is not 422."""
EVIDENCE = {"round": 1, "baseline": "v0", "judge": {"id": "j", "version": "1"}, "sha256": "0" * 64}

Who = str | Session | None
"""A key, a person, nobody."""
Names = dict[str, list[Any]]
"""Parameter -> values that there are."""


@dataclass(frozen=True)
class Fuzzed:
    """A server with work that has ended and work that waits, and the ids of it that a request can name."""

    api: Api
    names: Names


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    with Api(tmp_path_factory.mktemp("fuzzed") / "api", api_requests_per_minute=10_000_000) as api:
        ended = start("live-1", rounds=1, options={"trainer": "synthetic-job"})
        assert api.post(RUNS, key=api.key(), json=ended).status == 201
        assert api.post("/v1/job", key=api.key(), json=job(labels={"rsi_run": "live-1"})).status == 201
        drain(api.place)  # from here on no worker is there: what the tool starts waits
        assert api.post(RUNS, key=api.key(), json=start("waits-1")).status == 201
        assert api.post("/v1/job", key=api.key(), json=job(spec={"seed": 9})).status == 201
        with api.place.database.write() as tx:
            for occasion in "abcd":
                approvals.put(tx, "waits-1", "certification", "r1c1", occasion=occasion, document=EVIDENCE)
        yield Fuzzed(api, _names(api))


def _names(api: Api) -> Names:
    def ids(path: str, name: str) -> list[Any]:
        return [one[name] for one in api.get(f"/v1/{path}", key=api.key()).json["items"]]

    candidates = api.get(f"{RUNS}/live-1/rounds/1", key=api.key()).json["candidates"]
    checkpoints = ids("job/checkpoints", "checkpoint_id")
    left = api.get("/v1/job/checkpoints/download", key=api.key(), params={"path": checkpoints[0]}).json["urls"]
    ended = ids("trials", "trial_id")[-1]
    return {
        "path.run": ["live-1", "waits-1"],
        "path.number": [1, 2],
        "path.candidate": [one["candidate"] for one in candidates],
        "path.user_id": ["owner"],
        "path.job_id": ids("job", "job_id"),
        "path.trial_id": ids("trials", "trial_id"),
        "path.approval_id": ids("approvals", "approval_id"),
        "path.artifact_id": ids(f"trials/{ended}/artifacts", "artifact_id"),
        "path.checkpoint_id": checkpoints,
        "query.path": checkpoints,
        "path.token": [url.rpartition("/")[2] for url in left.values()],
    }


def _only_admin(api: Api) -> Session:
    """The one Admin there is, who therefore stays one whatever is asked for."""
    made = api.person(Role.ADMIN)
    people.set_member(api.place, "local", "owner", Role.VIEWER, LOCAL)
    return made


ROLES: dict[str, tuple[Callable[[Api], Who], str]] = {
    "nobody": (lambda api: None, BOUNDS),
    "a read-only key": (lambda api: api.key(KeyKind.READ_ONLY, fresh=True), BOUNDS),
    "a Developer": (lambda api: api.person(Role.DEVELOPER), BOUNDS),
    "an automation key": (lambda api: api.key(fresh=True), EVERYTHING),
    "an Admin": (_only_admin, EVERYTHING),
}
"""Who asks -> who that is, and in which ways; whoever may do most comes last, since an Admin revokes keys."""


@pytest.mark.parametrize("role", ROLES)
def test_the_server_keeps_to_its_document(
    role: str, fuzzed: Fuzzed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make, phases = ROLES[role]
    who, before = make(fuzzed.api), _answered(fuzzed.api)
    done = _run(fuzzed, who, phases, tmp_path)
    sent = _answered(fuzzed.api) - before
    assert done.returncode == 0, f"{done.stdout[-20000:]}\n{done.stderr[-2000:]}"
    assert sent >= LEAST
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


def _run(fuzzed: Fuzzed, who: Who, phases: str, place: Path) -> subprocess.CompletedProcess[str]:
    """The tool's command, in a process of its own."""
    configuration = place / "schemathesis.toml"
    configuration.write_text(_configuration(fuzzed, who))
    hooks = {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(configuration)),
        *("run", f"{fuzzed.api.url}/openapi.json", "--checks", "all", "--phases", phases),
        *("--workers", "1", "--no-color", "--continue-on-failure"),
    ]
    environment = os.environ | hooks | {"EVERLOOP_TEST_CURSORS": json.dumps(_cursors(fuzzed, who))}
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=290, check=False)


def _configuration(fuzzed: Fuzzed, who: Who) -> str:
    """The tool's configuration: the same requests each time, nothing kept, real names in more than half of them."""
    lines = [f"headers = {{ Origin = {json.dumps(fuzzed.api.url)} }}"] if isinstance(who, Session) else []
    lines += ["[generation]", "deterministic = true", 'database = "none"', "no-shrink = true"]
    lines += [f"max-examples = {EXAMPLES}"]
    if isinstance(who, Session):
        lines += ["[auth.openapi]", f"session = {{ api_key = {json.dumps(who.token)} }}"]
    elif who is not None:
        lines += ["[auth.openapi]", f"key = {{ bearer = {json.dumps(who)} }}"]
    lines += ["[parameters]", '"path.workspace_id" = "local"', '"path.project_id" = "local"']
    named = {name: name.replace(".", "_") for name in fuzzed.names}
    lines += [f'"{name}" = {{ dictionary = "{one}", probability = 0.6 }}' for name, one in named.items()]
    lines += [f"[dictionaries.{one}]\nvalues = {json.dumps(fuzzed.names[name])}" for name, one in named.items()]
    for operation in REASONS:
        lines += ["[[operations]]", f'include-operation-id = "{operation}"']
        lines += [f"checks.positive_data_acceptance.expected-statuses = {json.dumps(EXPECTED)}"]
    return "\n".join(lines) + "\n"


def _cursors(fuzzed: Fuzzed, who: Who) -> dict[str, str]:
    """Operation -> where the first page of its list ends, for the lists that this caller may see."""
    found: dict[str, str] = {}
    for path, methods in fuzzed.api.app.openapi()["paths"].items():
        told = methods.get("get", {})
        if {"cursor", "limit"} <= {one["name"] for one in told.get("parameters", ())}:
            answer = fuzzed.api.get(_filled(path, fuzzed.names), key=who, params={"limit": 1})
            if answer.status == 200 and answer.json["next_cursor"]:
                found[told["operationId"]] = answer.json["next_cursor"]
    return found


def _filled(path: str, names: Names) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: str(names.get(f"path.{found[1]}", ["local"])[0]), path)


def _answered(api: Api) -> float:
    """Requests that the server has answered."""
    told = api.app.state.metrics.exposition(api.place).decode()
    rows = [line for line in told.splitlines() if line.startswith("everloop_requests_total{")]
    return sum(float(row.rpartition(" ")[2]) for row in rows)


def test_the_limit_of_the_trials_of_one_job_is_looked_at(shared: Api) -> None:
    for query in ("limit=101", f"limit={2**64}", "cursor=none"):
        assert shared.get(f"/v1/trials?job_id=none&{query}", key=shared.key()).status == 422


def test_an_address_allows_what_the_document_tells_of_it_and_no_more(shared: Api) -> None:
    # by its pattern it is also the address of a checkpoint called `download`, which could be deleted
    for path, methods in {"job/checkpoints/download": "GET", "agent-runs/rsi/runs": "GET, POST"}.items():
        answer = shared.request("PATCH", f"/v1/{path}", key=shared.key())
        assert (answer.status, answer.headers["allow"]) == (405, methods)


@pytest.mark.parametrize("rounds", [{}, {"rounds": None}, {"rounds": 9}])
@pytest.mark.parametrize("action", ["extend", "stop", "resume"])
def test_rounds_fit_the_schema_of_a_control_where_the_service_takes_them(
    shared: Api, action: str, rounds: dict[str, Any]
) -> None:
    shared.post(RUNS, key=shared.key(), json=start("bound"))
    asked = {"action": action, **rounds}
    answer = shared.post(f"{RUNS}/bound/control", key=shared.key(), json=asked)
    assert Draft202012Validator(schemas.CONTROL_EXACTLY).is_valid(asked) == (answer.status != 422), answer.text


@pytest.mark.parametrize("given", [{}, {"permissions": None}, {"permissions": []}, {"permissions": ["read"]}])
@pytest.mark.parametrize("kind", [{}, *({"kind": one} for one in (*KeyKind, None))])
def test_permissions_fit_the_schema_of_a_key_where_the_service_takes_them(
    shared: Api, kind: dict[str, Any], given: dict[str, Any]
) -> None:
    asked = kind | given
    keys = "/v1/workspaces/local/projects/local/keys"
    answer = shared.post(keys, key=shared.person(Role.ADMIN), json=asked)
    fits = Draft202012Validator(documents_identity.KEY_REQUEST).is_valid(asked)
    assert fits == (answer.status == 201), answer.text


@pytest.mark.parametrize("reason", [{}, {"reason": None}, {"reason": " "}, {"reason": "No."}, {"reason": "a\0b"}])
@pytest.mark.parametrize("decision", ["approve", "reject", "maybe"])
def test_a_reason_fits_the_schema_of_a_decision_where_the_service_takes_it(
    shared: Api, decision: str, reason: dict[str, Any]
) -> None:
    asked, occasion = {"decision": decision, **reason}, f"{decision} {reason}"
    shared.post(RUNS, key=shared.key(), json=start("bound"))
    with shared.place.database.write() as tx:
        approvals.put(tx, "bound", "certification", "r1c1", occasion=occasion, document=EVIDENCE)
    path = f"/v1/approvals/{approvals.id_of('bound', 'certification', 'r1c1', occasion)}/decision"
    answer = shared.post(path, key=shared.person(Role.ADMIN), json=asked)
    fits = Draft202012Validator(documents_approvals.DECISION).is_valid(asked)
    assert fits == (answer.status == 200), answer.text
