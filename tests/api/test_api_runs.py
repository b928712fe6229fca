"""Routes of runs: what each refuses, in which order, and what happens at the same instant."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from calling import Answer, Api

from everloop.events import Event, EventKind
from everloop.service import runs
from everloop.service.permissions import KeyKind, Permission
from everloop.store import events, steers
from everloop.store import runs as stored

ROOT = "/v1/agent-runs/rsi/runs"
START: dict[str, Any] = {"run": "r-1", "brief": "Improve.", "limits": {"model_usd_cap": 1}, "domain": "synthetic"}


@pytest.fixture
def started(api: Api) -> Api:
    assert api.post(ROOT, key=api.key(), json=START).status == 201
    return api


@pytest.fixture(scope="module")
def standing(shared: Api) -> Api:
    """A server with a run, for tests that change nothing."""
    assert shared.post(ROOT, key=shared.key(), json=START).status == 201
    shared.project("other")
    return shared


def told(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code


def foreign(api: Api) -> str:
    return api.key(project="other")


def nostop(api: Api) -> str:
    return api.key(KeyKind.CUSTOM, Permission.READ, Permission.RUN)


def reader(api: Api) -> str:
    return api.key(KeyKind.READ_ONLY)


def test_a_start_tells_what_will_be_enforced(api: Api) -> None:
    made = api.post(ROOT, key=api.key(), json=START)
    assert made.status == 201
    assert (made.json["state"], made.json["mode"], made.json["limits"]["model_usd_cap"]) == ("starting", "live", 1)
    assert made.json["owner"]["project_id"] == "local"
    assert made.json["owner"]["subject"].startswith("key:")


def test_both_prefixes_serve_the_same(standing: Api) -> None:
    for prefix in ("", "/api"):
        assert standing.get(f"{prefix}{ROOT}/r-1", key=standing.key()).json["run"] == "r-1"


def test_an_empty_list_says_how_to_start(api: Api) -> None:
    found = api.get(ROOT, key=api.key()).json
    assert (found["items"], found["next_cursor"], found["start"]) == ([], None, runs.START)


def test_a_list_is_walked_to_its_end(api: Api) -> None:
    for number in range(7):
        api.post(ROOT, key=api.key(), json=START | {"run": f"r-{number}"})
    seen, cursor = [], None
    while True:
        page = api.get(ROOT, key=api.key(), params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json
        seen += [row["run"] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"r-{number}" for number in range(6, -1, -1)]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("?limit=0", "INVALID_LIMIT"),
        ("?limit=101", "INVALID_LIMIT"),
        ("?limit=x", "INVALID_LIMIT"),
        ("?limit=", "INVALID_LIMIT"),
        ("?cursor=x", "INVALID_CURSOR"),
        ("?cursor=", "INVALID_CURSOR"),
        ("?cursor=WyJhIiwgImIiLCAiYyJd", "INVALID_CURSOR"),
        ("?cursor=WyJcdTAwMDAiLCAiYiJd", "INVALID_CURSOR"),
        ("/r-1/live?since=-1", "INVALID_RSI_REQUEST"),
        ("/r-1/live?since=abc", "INVALID_RSI_REQUEST"),
        ("/r-1/live?since=1.5", "INVALID_RSI_REQUEST"),
        ("/r-1/live?since=99999999999999999999", "INVALID_RSI_REQUEST"),
        ("/r-1/live?since=%D9%A1", "INVALID_RSI_REQUEST"),
        ("/r-1/rounds/0", "INVALID_RSI_REQUEST"),
        ("/r-1/rounds/x", "INVALID_RSI_REQUEST"),
        ("/r-1?compact=perhaps", "INVALID_RSI_REQUEST"),
    ],
)
def test_a_look_that_cannot_be_is_422(standing: Api, path: str, code: str) -> None:
    assert told(standing.get(ROOT + path, key=standing.key())) == (422, code)


@pytest.mark.parametrize(
    "change",
    [
        {"run": ""},
        {"run": "a" * 65},
        {"run": "Bad"},
        {"run": "а-1"},  # Cyrillic
        {"run": "a\u200b1"},
        {"run": "a-1\n"},
        {"run": 1},
        {"run": None},
        {"brief": ""},
        {"brief": " \n"},
        {"brief": "x" * 4001},
        {"brief": 5},
        {"limits": {}},
        {"limits": None},
        {"limits": []},
        {"limits": {"model_usd_cap": 0}},
        {"limits": {"model_usd_cap": -1}},
        {"limits": {"model_usd_cap": True}},
        {"limits": {"model_usd_cap": "5"}},
        {"limits": {"model_usd_cap": 1, "usd_cap": 0}},
        {"limits": {"model_usd_cap": 1, "model_request_cap": 1.5}},
        {"limits": {"model_usd_cap": 1, "gpu_cap": 1}},
        {"rounds": 0},
        {"rounds": 1001},
        {"rounds": "3"},
        {"rounds": True},
        {"domain": "astrology"},
        {"domain": "../x"},
        {"dry_run": "yes"},
        {"student_model": "x"},
        {"student_model": "x", "dry_run": True},
        {"dry_run": True},
        {"options": {"gate": "none"}},
        {"options": {"operator": "nobody"}},
        {"options": {"launcher": "/bin/sh"}},
        {"zzz": 1},
    ],
)
def test_a_start_that_cannot_be_is_422_and_starts_nothing(standing: Api, change: dict[str, Any]) -> None:
    wanted = START | {"run": "r-2"} | change
    assert told(standing.post(ROOT, key=standing.key(), json=wanted)) == (422, "INVALID_RSI_REQUEST")
    assert [row["run"] for row in standing.get(ROOT, key=standing.key()).json["items"]] == ["r-1"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b"\xff", b'"' + b"x" * 100 + b'"', b"[" * 9999])
def test_a_body_that_is_no_object_is_422(standing: Api, raw: bytes) -> None:
    for path, code in (("", "INVALID_RSI_REQUEST"), ("/r-1/steer", "INVALID_STEER"), ("/r-1/control", None)):
        wanted = code or "INVALID_RSI_REQUEST"
        assert told(standing.post(ROOT + path, key=standing.key(), content=raw)) == (422, wanted)


@pytest.mark.parametrize(("path", "code"), [("steer", "INVALID_STEER"), ("directives", "INVALID_DIRECTIVE")])
@pytest.mark.parametrize(
    "body", [{}, {"text": ""}, {"text": " "}, {"text": "x" * 4001}, {"text": 1}, {"text": "x", "author": "y"}]
)
def test_a_text_that_cannot_be_is_422(standing: Api, path: str, code: str, body: dict[str, Any]) -> None:
    assert told(standing.post(f"{ROOT}/r-1/{path}", key=standing.key(), json=body)) == (422, code)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"action": "dance"},
        {"action": None},
        {"action": "extend"},
        {"action": "extend", "rounds": 0},
        {"action": "extend", "rounds": 1001},
        {"action": "stop", "rounds": 3},
        {"action": "stop", "zzz": 1},
    ],
)
def test_a_control_that_cannot_be_is_422(standing: Api, body: dict[str, Any]) -> None:
    assert told(standing.post(f"{ROOT}/r-1/control", key=standing.key(), json=body)) == (422, "INVALID_RSI_REQUEST")


def test_4000_characters_are_a_text_whatever_they_are(started: Api) -> None:
    sent = started.post(f"{ROOT}/r-1/steer", key=started.key(), json={"text": "😀" * 4000})
    assert (sent.status, sent.json["status"]) == (202, "queued")
    assert sent.json["author"].startswith("key:")


def _calls(run: str) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    yield "GET", f"{ROOT}/{run}", None
    yield "GET", f"{ROOT}/{run}/history", None
    yield "GET", f"{ROOT}/{run}/live", None
    yield "GET", f"{ROOT}/{run}/live?since=-1", None
    yield "GET", f"{ROOT}/{run}/rounds/0", None
    yield "POST", f"{ROOT}/{run}/steer", {"text": ""}
    yield "POST", f"{ROOT}/{run}/directives", {}
    yield "POST", f"{ROOT}/{run}/control", {"action": "stop", "zzz": 1}
    yield "POST", f"{ROOT}/{run}/control", {"action": "dance"}


@pytest.mark.parametrize("run", ["r-1", "r-none", "R-1", "r‐1", "...", "a" * 300])
def test_what_a_caller_does_not_see_is_404_whatever_else_is_wrong(standing: Api, run: str) -> None:
    key = foreign(standing)
    for method, path, body in _calls(run):
        assert told(standing.request(method, path, key=key, json=body)) == (404, "RSI_RUN_NOT_FOUND"), path


@pytest.mark.parametrize(
    "change",
    [
        {"run": "X" * 100_000},
        {"domain": ["x" * 100_000]},
        {"rounds": "9" * 100_000},
        {"options": "x" * 100_000},
        {"options": {"operator": ["x" * 100_000]}},
        {"x" * 100_000: 1},
    ],
    ids=lambda change: str(change)[:20],
)
def test_a_refusal_quotes_little_of_what_was_sent(standing: Api, change: dict[str, Any]) -> None:
    refused = standing.post(ROOT, key=standing.key(), json=START | {"run": "r-2"} | change)
    assert told(refused) == (422, "INVALID_RSI_REQUEST")
    assert len(refused.content) < 500


@pytest.mark.parametrize("run", ["r-1", "r-none"])
@pytest.mark.parametrize("path", ["steer", "directives", "control"])
def test_what_a_caller_does_not_see_is_404_whatever_the_body_is(standing: Api, run: str, path: str) -> None:
    refused = standing.post(f"{ROOT}/{run}/{path}", key=foreign(standing), content=b"{")
    assert told(refused) == (404, "RSI_RUN_NOT_FOUND")


def test_what_a_caller_does_not_see_is_404_whatever_the_query_is(standing: Api) -> None:
    assert told(standing.get(f"{ROOT}/r-1?compact=xyz", key=foreign(standing))) == (404, "RSI_RUN_NOT_FOUND")
    assert told(standing.get(f"{ROOT}/r-1?compact=xyz", key=standing.key())) == (422, "INVALID_RSI_REQUEST")


@pytest.mark.parametrize(
    "path", [ROOT, f"{ROOT}/r-1/steer", f"{ROOT}/r-1/directives", f"{ROOT}/r-1/control", "/v1/job"]
)
def test_without_the_permission_it_is_403_whatever_the_body_is(standing: Api, path: str) -> None:
    assert told(standing.post(path, key=reader(standing), content=b"{")) == (403, "ACCESS_DENIED")


def test_an_unknown_run_and_a_foreign_one_read_the_same(standing: Api) -> None:
    key = foreign(standing)
    one, other = (standing.get(f"{ROOT}/{run}", key=key).text for run in ("r-1", "r-9"))
    assert one.replace("r-1", "r-9") == other


def test_without_the_permission_it_is_403_before_it_is_404(standing: Api) -> None:
    for method, path, body in _calls("r-none"):
        if method == "POST":
            assert told(standing.post(path, key=reader(standing), json=body)) == (403, "ACCESS_DENIED"), path
    assert told(standing.post(ROOT, key=reader(standing), json={"zzz": 1})) == (403, "ACCESS_DENIED")


def test_a_key_without_stop_steers_and_does_not_stop(started: Api) -> None:
    key = nostop(started)
    assert started.post(f"{ROOT}/r-1/steer", key=key, json={"text": "x"}).status == 202
    assert told(started.post(f"{ROOT}/r-1/control", key=key, json={"action": "stop"})) == (403, "ACCESS_DENIED")


@pytest.mark.parametrize("key", [None, "x", "elk_000000000000_x", "x" * 600, "elk__"])
def test_without_a_key_in_force_it_is_401_before_anything(standing: Api, key: str | None) -> None:
    for method, path, body in [*_calls("r-1"), ("POST", ROOT, {}), ("GET", ROOT, None)]:
        refused = standing.request(method, path, key=key, json=body)
        assert told(refused) == (401, "UNAUTHORIZED"), path
        assert refused.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer x y", "Token x", "\x80"])
def test_an_authorization_that_is_no_key_is_401(standing: Api, header: str) -> None:
    sent = {"Authorization": header.encode("latin-1")}
    assert standing.get(ROOT, headers=sent).status == 401  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["X-Workspace-ID", "X-Project-ID"])
def test_another_scope_is_403(standing: Api, name: str) -> None:
    assert standing.get(ROOT, key=standing.key(), headers={name: "local"}).status == 200
    assert told(standing.get(ROOT, key=standing.key(), headers={name: "other"})) == (403, "PROJECT_ACCESS_DENIED")


def test_an_id_that_is_taken_is_409_for_everybody(standing: Api) -> None:
    assert told(standing.post(ROOT, key=standing.key(), json=START)) == (409, "RSI_CONFLICT")
    assert told(standing.post(ROOT, key=foreign(standing), json=START)) == (409, "RSI_CONFLICT")


def test_of_simultaneous_starts_of_one_id_exactly_one_wins(api: Api) -> None:
    key, answers, gate = api.key(), [], threading.Barrier(8)

    def start() -> None:
        gate.wait()
        answers.append(api.post(ROOT, key=key, json=START).status)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201] + [409] * 7


def end(api: Api, state: str = "stopped") -> None:
    with api.place.database.write() as tx:
        stored.update(tx, "r-1", state=state)
        steers.drop(tx, "r-1")


@pytest.mark.parametrize("state", ["finished", "failed", "stopped"])
def test_an_ended_run_takes_no_steer_and_no_stop(started: Api, state: str) -> None:
    end(started, state)
    assert told(started.post(f"{ROOT}/r-1/steer", key=started.key(), json={"text": "x"})) == (409, "RSI_RUN_NOT_ACTIVE")
    assert told(started.post(f"{ROOT}/r-1/control", key=started.key(), json={"action": "stop"})) == (
        409,
        "RSI_CONFLICT",
    )


def test_a_running_run_is_not_resumed(standing: Api) -> None:
    assert told(standing.post(f"{ROOT}/r-1/control", key=standing.key(), json={"action": "resume"})) == (
        409,
        "RSI_CONFLICT",
    )


def test_a_second_stop_changes_nothing(started: Api) -> None:
    one, two = (started.post(f"{ROOT}/r-1/control", key=started.key(), json={"action": "stop"}) for _ in range(2))
    assert (one.status, two.status, one.json["stop_requested"]) == (200, 200, True)
    assert one.json == two.json


def test_a_steer_at_the_instant_of_the_end_is_delivered_dropped_or_refused(started: Api) -> None:
    key, answers = started.key(), []

    def steer(number: int) -> None:
        answers.append(started.post(f"{ROOT}/r-1/steer", key=key, json={"text": f"steer {number}"}))

    threads = [threading.Thread(target=steer, args=(number,)) for number in range(12)]
    for number, thread in enumerate(threads):
        thread.start()
        if number == 6:
            end(started)
    for thread in threads:
        thread.join()
    taken = {answer.json["id"] for answer in answers if answer.status == 202}
    assert {answer.status for answer in answers} <= {202, 409}
    listed = started.get(f"{ROOT}/r-1/live", key=key).json["steers"]
    assert {one["id"]: one["status"] for one in listed} == dict.fromkeys(taken, "dropped")


def test_beyond_the_end_there_is_nothing_new(standing: Api) -> None:
    view = standing.get(f"{ROOT}/r-1/live?since=1000000", key=standing.key()).json
    assert (view["events"], view["next_cursor"]) == ([], 1000000)


def test_events_come_in_pages_of_200(started: Api) -> None:
    with started.place.database.write() as tx:
        events.append(tx, "r-1", *(Event(EventKind.MESSAGE, f"event {n}") for n in range(450)))
    newest = started.get(f"{ROOT}/r-1/live", key=started.key()).json
    assert [one["seq"] for one in newest["events"]] == list(range(252, 452))
    seen, cursor = [], 0
    while page := started.get(f"{ROOT}/r-1/live?since={cursor}", key=started.key()).json["events"]:
        assert len(page) <= 200
        seen += [one["seq"] for one in page]
        cursor = seen[-1]
    assert seen == list(range(1, 452))
