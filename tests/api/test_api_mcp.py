"""The MCP tools: who may call which, what they tell, what a refusal looks like, what is recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from calling import Api
from mcp_calling import rpc, start, started, tool

from everloop.api.mcp_tools import TOOLS
from everloop.service import audit
from everloop.service.caller import LOCAL
from everloop.service.permissions import KeyKind, Permission
from everloop.store import rounds

_numbers = count(1)
KEYS = ("automation", "read-only", "no stop", "no key", "foreign")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Api(tmp_path_factory.mktemp("api"), max_active_runs=500) as server:
        server.project("other")
        yield server


@pytest.fixture
def run(served: Api) -> str:
    """A run of the project "local" in its first round."""
    made = started(served, f"mcp-{next(_numbers)}")
    with served.place.database.write() as tx:
        rounds.begin(tx, made, 1)
    return made


def key_of(api: Api, kind: str) -> str | None:
    if kind == "foreign":
        return api.key(project="other")
    custom = (KeyKind.CUSTOM, Permission.READ, Permission.RUN)
    made = {"automation": (KeyKind.AUTOMATION,), "read-only": (KeyKind.READ_ONLY,), "no stop": custom}
    return api.key(*made[kind]) if kind in made else None


def arguments_of(name: str, run: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "rsi_list_runs": {},
        "rsi_run_status": {"run": run, "compact": True},
        "rsi_status": {"run": run, "since": 0},
        "rsi_round": {"run": run, "round": 1},
        "rsi_start_run": start(f"{run}-new"),
        "rsi_add_directive": {"run": run, "text": "Prefer carries."},
        "rsi_steer": {"run": run, "text": "Look at carries."},
        "rsi_control": {"run": run, "action": "stop"},
    }
    return dict(told[name])


def expected(name: str, kind: str) -> str | None:
    writes = name in {"rsi_start_run", "rsi_add_directive", "rsi_steer", "rsi_control"}
    if kind == "read-only" and writes:
        return "ACCESS_DENIED"
    if kind == "no stop" and name == "rsi_control":
        return "ACCESS_DENIED"
    if kind == "foreign" and name not in {"rsi_list_runs", "rsi_start_run"}:
        return "RSI_RUN_NOT_FOUND"
    return None


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", [one.name for one in TOOLS])
def test_each_tool_does_for_each_key_what_its_permissions_say(served: Api, run: str, name: str, kind: str) -> None:
    told = tool(served, name, arguments_of(name, run), key=key_of(served, kind))
    if kind == "no key":
        assert (told.answer.status, told.answer.code) == (401, "UNAUTHORIZED")
        assert told.answer.headers["www-authenticate"] == "Bearer"
        return
    assert told.code == expected(name, kind)
    if kind == "foreign" and name == "rsi_list_runs":
        assert run not in [row["run"] for row in told.document["items"]]


def test_a_text_block_repeats_what_the_structured_content_says(served: Api, run: str) -> None:
    for arguments in ({"run": run}, {"run": "none-such"}):
        told = tool(served, "rsi_status", arguments, key=served.key())
        (block,) = told.result["content"]
        assert json.loads(block["text"]) == told.document


def test_a_started_run_is_seen_by_rest_with_the_key_as_owner(served: Api) -> None:
    key, name = served.key(), f"mcp-{next(_numbers)}"
    told = tool(served, "rsi_start_run", start(name, rounds=7), key=key)
    assert (told.document["state"], told.document["mode"], told.document["rounds_target"]) == ("starting", "live", 7)
    seen = served.get(f"/v1/agent-runs/rsi/runs/{name}", key=key).json
    assert seen["owner"] == {"workspace_id": "local", "project_id": "local", "subject": f"key:{key.split('_')[1]}"}
    assert seen["limits"] == told.document["limits"]


def test_a_tool_tells_what_rest_tells(served: Api, run: str) -> None:
    key, base = served.key(), f"/v1/agent-runs/rsi/runs/{run}"
    pairs: list[tuple[str, dict[str, Any], str]] = [
        ("rsi_run_status", {}, base),
        ("rsi_run_status", {"compact": True}, f"{base}?compact=true"),
        ("rsi_status", {}, f"{base}/live"),
        ("rsi_status", {"since": 1}, f"{base}/live?since=1"),
        ("rsi_round", {"round": 1}, f"{base}/rounds/1"),
    ]
    for name, more, path in pairs:
        assert tool(served, name, {"run": run, **more}, key=key).document == served.get(path, key=key).json


def test_an_empty_list_says_how_to_start_a_run(served: Api) -> None:
    told = tool(served, "rsi_list_runs", key=served.key(project=served.project("empty")))
    assert told.document["items"] == []
    assert "rsi_start_run" in told.document["start"]


def test_the_author_of_a_steer_is_the_key_and_no_argument_can_name_another(served: Api, run: str) -> None:
    key = served.key()
    forged = {"run": run, "text": "x", "author": "boss"}
    assert tool(served, "rsi_steer", forged, key=key).code == "INVALID_STEER"
    assert tool(served, "rsi_steer", {"run": run, "text": "x"}, key=key).document["status"] == "queued"
    (steer,) = tool(served, "rsi_status", {"run": run}, key=key).document["steers"]
    assert steer["author"] == f"key:{key.split('_')[1]}"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("rsi_list_runs", {"limit": 3}, "INVALID_RSI_REQUEST"),
        ("rsi_run_status", {}, "INVALID_RSI_REQUEST"),
        ("rsi_run_status", {"run": 3}, "INVALID_RSI_REQUEST"),
        ("rsi_run_status", {"run": "RUN", "compact": "yes"}, "INVALID_RSI_REQUEST"),
        ("rsi_run_status", {"run": "RUN", "rounds": 3}, "INVALID_RSI_REQUEST"),
        ("rsi_run_status", {"run": "none-such"}, "RSI_RUN_NOT_FOUND"),
        ("rsi_run_status", {"run": "../../etc"}, "RSI_RUN_NOT_FOUND"),
        ("rsi_status", {"run": "RUN", "since": -1}, "INVALID_RSI_REQUEST"),
        ("rsi_status", {"run": "RUN", "since": "1"}, "INVALID_RSI_REQUEST"),
        ("rsi_status", {"run": "RUN", "since": True}, "INVALID_RSI_REQUEST"),
        ("rsi_round", {"run": "RUN"}, "INVALID_RSI_REQUEST"),
        ("rsi_round", {"run": "RUN", "round": 0}, "INVALID_RSI_REQUEST"),
        ("rsi_round", {"run": "RUN", "round": 2}, "NOT_FOUND"),
        ("rsi_start_run", {}, "INVALID_RSI_REQUEST"),
        ("rsi_start_run", start("RUN"), "RSI_CONFLICT"),
        ("rsi_start_run", start("mcp-no", limits={"model_usd_cap": 0}), "INVALID_RSI_REQUEST"),
        ("rsi_start_run", start("mcp-no", limits={"model_usd_cap": 1, "gpu_cap": 1}), "INVALID_RSI_REQUEST"),
        ("rsi_start_run", start("mcp-no", student_model="m"), "INVALID_RSI_REQUEST"),
        # no model is configured: a code that clients do not know is told as the nearest that they do
        ("rsi_start_run", start("mcp-no", dry_run=True), "INVALID_RSI_REQUEST"),
        ("rsi_add_directive", {"run": "RUN", "text": " "}, "INVALID_DIRECTIVE"),
        ("rsi_add_directive", {"run": "RUN", "text": "x" * 4001}, "INVALID_DIRECTIVE"),
        ("rsi_steer", {"run": "RUN"}, "INVALID_STEER"),
        ("rsi_steer", {"run": "RUN", "text": 5}, "INVALID_STEER"),
        ("rsi_control", {"run": "RUN"}, "INVALID_RSI_REQUEST"),
        ("rsi_control", {"run": "RUN", "action": "pause"}, "INVALID_RSI_REQUEST"),
        ("rsi_control", {"run": "RUN", "action": "extend"}, "INVALID_RSI_REQUEST"),
        ("rsi_control", {"run": "RUN", "action": "stop", "rounds": 3}, "INVALID_RSI_REQUEST"),
        ("rsi_control", {"run": "RUN", "action": "resume"}, "RSI_CONFLICT"),
    ],
)
def test_what_cannot_be_accepted_is_a_result_with_its_code(
    served: Api, run: str, name: str, arguments: dict[str, Any], code: str
) -> None:
    asked = {field: run if value == "RUN" else value for field, value in arguments.items()}
    assert tool(served, name, asked, key=served.key()).code == code


def test_a_missing_permission_is_told_before_a_wrong_argument(served: Api) -> None:
    key = served.key(KeyKind.READ_ONLY)
    for name in ("rsi_start_run", "rsi_steer", "rsi_add_directive", "rsi_control"):
        assert tool(served, name, {"nonsense": 1}, key=key).code == "ACCESS_DENIED"


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Api) -> None:
    answer = rpc(served, "tools/call", {"name": "rsi_delete_run"}, key=served.key())
    assert answer.json["error"]["code"] == -32602
    assert answer.json["error"]["data"]["code"] == "NOT_FOUND"


def test_what_changes_something_is_recorded_and_what_reads_is_not(served: Api, run: str) -> None:
    key = served.key(fresh=True)
    for name in ("rsi_status", "rsi_steer", "rsi_control", "rsi_control"):
        tool(served, name, arguments_of(name, run), key=key)
    tool(served, "rsi_steer", {"run": run, "text": ""}, key=key)
    rows = [row for row in audit.pages(served.place, LOCAL, 100).items if row["target"] == run]
    told = [(row["surface"], row["action"], row["status"], row["code"], row["subject"]) for row in reversed(rows)]
    subject = f"key:{key.split('_')[1]}"
    assert told == [
        ("mcp", "rsi_steer", 200, None, subject),
        ("mcp", "rsi_control", 200, None, subject),
        ("mcp", "rsi_control", 200, None, subject),
        ("mcp", "rsi_steer", 422, "INVALID_STEER", subject),
    ]
    assert all(row["request_id"] and row["address"] == "127.0.0.1" for row in rows)


def test_a_refused_reading_is_recorded_too(served: Api, run: str) -> None:
    key = served.key(KeyKind.CUSTOM, Permission.RUN, fresh=True)
    assert tool(served, "rsi_run_status", {"run": run}, key=key).code == "ACCESS_DENIED"
    row = audit.pages(served.place, LOCAL, 1).items[0]
    assert (row["action"], row["code"], row["status"]) == ("rsi_run_status", "ACCESS_DENIED", 403)


def test_an_error_that_nobody_foresaw_does_not_leave_the_server(
    served: Api, run: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("everloop.service.runs.live_document", broken)
    told = tool(served, "rsi_status", {"run": run}, key=served.key())
    assert told.code == "INTERNAL_SERVER_ERROR"
    assert "secret" not in told.answer.text
    assert "secret words" in caplog.text


def test_a_call_that_takes_long_holds_up_no_other(served: Api, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> dict[str, Any]:
        entered.set()
        assert go_on.wait(20)
        return {"slow": True}

    monkeypatch.setattr("everloop.service.runs.live_document", slow)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tool, served, "rsi_status", {"run": run}, key=served.key())
        assert entered.wait(20)
        assert rpc(served, "ping", key=served.key()).status == 200
        assert not waiting.done()
        go_on.set()
        assert waiting.result(20).document == {"slow": True}
