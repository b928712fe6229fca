"""What stands before the MCP tools: method, key, scope, rate, host, origin, size, well-formed JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import Api
from mcp_calling import ACCEPT, MCP, rpc

from everloop.service.permissions import Role


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Api(tmp_path_factory.mktemp("api")) as server:
        server.project("other")
        yield server


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
def test_other_methods_than_post_are_refused(served: Api, method: str) -> None:
    for path in (MCP, f"/api{MCP}"):
        answer = served.request(method, path, key=served.key())
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        assert method == "HEAD" or answer.code == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize("sent", ["", "Basic eDp5", "Bearer", "Token x", "Bearer elk_nobody_nothing", "bearer x y"])
def test_a_key_that_is_not_good_is_refused_before_the_body_is_read(served: Api, sent: str) -> None:
    headers = ACCEPT | {"Authorization": sent} if sent else ACCEPT
    answer = served.post(MCP, content=b"{", headers=headers | {"Content-Type": "application/json"})
    assert (answer.status, answer.code, answer.headers["www-authenticate"]) == (401, "UNAUTHORIZED", "Bearer")


def test_a_session_cookie_opens_nothing_here(served: Api) -> None:
    answer = rpc(served, "tools/list", key=served.person(Role.ADMIN))
    assert (answer.status, answer.code) == (401, "UNAUTHORIZED")


def test_headers_of_another_project_are_refused(served: Api) -> None:
    same = rpc(served, "ping", key=served.key(), **{"X-Project-ID": "local", "X-Workspace-ID": "local"})
    assert same.status == 200
    other = rpc(served, "ping", key=served.key(), **{"X-Project-ID": "other"})
    assert (other.status, other.code) == (403, "PROJECT_ACCESS_DENIED")


def test_requests_beyond_the_limit_of_a_key_are_refused_with_the_time_to_wait(tmp_path: Path) -> None:
    with Api(tmp_path / "few", api_requests_per_minute=3) as few:
        answers = [rpc(few, "ping", key=few.key()) for _ in range(4)]
        assert [one.status for one in answers] == [200, 200, 200, 429]
        assert answers[-1].code == "RATE_LIMITED"
        assert int(answers[-1].headers["retry-after"]) >= 1


def test_strangers_of_one_address_are_soon_refused_unseen(tmp_path: Path) -> None:
    with Api(tmp_path / "few", api_requests_per_minute=100) as few:
        statuses = [rpc(few, "ping", key="elk_guess_guess").status for _ in range(12)]
        assert statuses == [401] * 10 + [429] * 2


def test_a_notification_is_accepted_with_no_body(served: Api) -> None:
    sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = served.post(MCP, key=served.key(), json=sent, headers=ACCEPT)
    assert (answer.status, answer.content) == (202, b"")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\u0000"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1,"x":2}}',
    ],
)
def test_what_is_no_acceptable_json_is_a_parse_error(served: Api, body: bytes) -> None:
    answer = served.post(MCP, key=served.key(), content=body, headers=ACCEPT | {"Content-Type": "application/json"})
    assert answer.status == 400
    assert (answer.json["id"], answer.json["error"]["code"]) == (None, -32700)
    assert answer.json["error"]["data"]["code"] == "INVALID_RSI_REQUEST"


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b'{"jsonrpc":"1.0"}', b'[{"jsonrpc":"2.0"}]'])
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_json_that_is_no_message_is_refused(served: Api, body: bytes, version: str) -> None:
    headers = ACCEPT | {"Content-Type": "application/json", "MCP-Protocol-Version": version}
    answer = served.post(MCP, key=served.key(), content=body, headers=headers)
    assert answer.status == 400
    assert "error" in answer.json


def test_another_type_of_body_is_refused(served: Api) -> None:
    answer = served.post(MCP, key=served.key(), content=b"x=1", headers=ACCEPT | {"Content-Type": "text/plain"})
    assert (answer.status, answer.code) == (400, "INVALID_RSI_REQUEST")


def test_a_body_over_a_mebibyte_is_refused(served: Api) -> None:
    arguments = {"run": "x", "text": "x" * (1 << 20)}
    answer = rpc(served, "tools/call", {"name": "rsi_steer", "arguments": arguments}, key=served.key())
    assert (answer.status, answer.code) == (413, "PAYLOAD_TOO_LARGE")


def test_a_foreign_host_is_refused_and_an_own_origin_is_not(served: Api) -> None:
    key, port = served.key(), served.listener.getsockname()[1]
    assert rpc(served, "ping", key=key, Host=f"evil.example:{port}").status in {403, 421}
    for own in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
        assert rpc(served, "ping", key=key, Origin=own).status == 200
    for foreign in ("http://evil.example", "null", f"http://127.0.0.1.evil.example:{port}"):
        answer = rpc(served, "ping", key=key, Origin=foreign)
        assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


def test_it_is_served_under_api_too(served: Api) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert served.post(f"/api{MCP}", key=served.key(), json=sent, headers=ACCEPT).json["result"] == {}


def test_answers_are_json_and_carry_no_session(served: Api) -> None:
    answer = rpc(served, "ping", key=served.key())
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
