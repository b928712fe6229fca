"""Bodies: what is taken for JSON, and what never reaches a use case."""

from __future__ import annotations

import json
import threading
from urllib.parse import urlsplit

import pytest
from calling import Api, Session, session_cookie
from hypothesis import given
from hypothesis import strategies as st
from mcp_calling import ACCEPT, MCP

from everloop.api import bodies
from everloop.api.bodies import AT_ONCE, DEPTH, JOB_VALUES, VALUES, parsed
from everloop.errors import InvalidRequest, InvalidSteer, InvalidTrainJobSpec
from everloop.events import JsonValue
from everloop.service.permissions import KeyKind, Role


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é 漢 😀", [], {}, {"a": [1, {"b": None}]}])
def test_json_is_read(value: JsonValue) -> None:
    assert parsed(json.dumps(value).encode()) == value


def test_as_many_levels_as_allowed_are_read() -> None:
    assert parsed(nested(DEPTH - 1)) is not None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"NaN", "NaN is no JSON number"),
        (b"[Infinity]", "Infinity is no JSON number"),
        (b'{"a": 1, "a": 2}', "names a key twice"),
        (b'"\\u0000"', "zero byte"),
        (b'{"a": {"\\u0000": 1}}', "zero byte"),
        (b'["\\ud800"]', "half a character"),
        (b"1" * 5000, "not JSON"),
        (nested(DEPTH + 1), "nested too deeply"),
        (nested(5_000), "nested too deeply"),
        (b'{"a":' * 4_000, "nested too deeply"),
        (nested(100_000), "too many values"),
        (b'{"a":' * 100_000, "too many values"),
        (b"[" + b"[]," * VALUES + b"1]", "too many values"),
        (b"[" + b"1," * VALUES + b"1]", "too many values"),
        (b"[" + b'"\\"",' * VALUES + b"1]", "too many values"),
    ],
)
def test_anything_else_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        parsed(raw)


@pytest.mark.parametrize("text", ["," * 50_000, "[{" * 50_000, '",[' * 50_000, '\\",' * 50_000, "\\", "é," * 50_000])
def test_what_stands_inside_a_text_is_no_value(text: str) -> None:
    assert parsed(json.dumps({"text": text}).encode()) == {"text": text}


@given(st.recursive(st.none() | st.text(st.sampled_from('",[\\\\{a')), st.lists, max_leaves=20))
def test_as_many_values_as_are_allowed_are_let_in_and_no_more(value: JsonValue) -> None:
    raw, (marks, texts) = json.dumps(value).encode(), _counted(value)
    assert parsed(raw, values=marks + texts + 1) == value
    with pytest.raises(InvalidRequest, match="too many values"):
        parsed(raw, values=marks)


def _counted(value: JsonValue) -> tuple[int, int]:
    """Openings and commas, and texts."""
    if not isinstance(value, list):
        return 0, int(isinstance(value, str))
    below = [_counted(one) for one in value]
    return 1 + max(0, len(value) - 1) + sum(one[0] for one in below), sum(one[1] for one in below)


def test_too_many_values_are_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it is parsed"))
    with pytest.raises(InvalidTrainJobSpec, match="too many values"):
        parsed(b"[" + b"[]," * JOB_VALUES + b"1]", InvalidTrainJobSpec, JOB_VALUES)


def test_the_refusal_is_of_the_kind_of_the_route() -> None:
    with pytest.raises(InvalidSteer):
        parsed(b"{", InvalidSteer)


@pytest.mark.parametrize("path", ["/v1/agent-runs/rsi/runs", "/v1/job", MCP])
def test_others_are_answered_while_a_long_body_is_parsed(
    shared: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    begun, answered = threading.Event(), threading.Event()

    def slow(raw: bytes, error: type[InvalidRequest] = InvalidRequest, values: int = VALUES) -> JsonValue:
        begun.set()
        assert answered.wait(10), "nobody else was answered in the meantime"
        raise error("it is read")

    monkeypatch.setattr(bodies, "parsed", slow)
    told: list[str] = []
    headers = ACCEPT | {"Content-Type": "application/json"}
    content = b" " * (AT_ONCE + 1)
    sender = threading.Thread(
        target=lambda: told.append(shared.post(path, key=shared.key(), content=content, headers=headers).text)
    )
    sender.start()
    assert begun.wait(10)
    assert shared.get("/healthz").status == 200
    answered.set()
    sender.join()
    assert "it is read" in told[0]


HEAD = "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nConnection: close\r\n{}\r\n"
"""A request that declares a body of which nothing is sent."""
RUNS, PROJECT = "/v1/agent-runs/rsi/runs", "/v1/workspaces/local/projects/local"


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", RUNS),
        ("POST", f"{RUNS}/none/steer"),
        ("POST", f"{RUNS}/none/directives"),
        ("POST", f"{RUNS}/none/control"),
        ("POST", "/v1/job"),
        ("POST", "/v1/approvals/none/decision"),
        ("POST", "/v1/samples/none/r1c1/verdict"),
        ("POST", f"{PROJECT}/keys"),
        ("PUT", f"{PROJECT}/members/none"),
    ],
)
def test_who_may_not_send_a_body_is_refused_before_it_arrives(shared: Api, method: str, path: str, key: bool) -> None:
    identity = f"Authorization: Bearer {shared.key(KeyKind.READ_ONLY)}\r\n" if key else ""
    answer = shared.raw(HEAD.format(method, path, identity).encode())
    assert answer.startswith(b"HTTP/1.1 403 " if key else b"HTTP/1.1 401 "), answer


@pytest.mark.parametrize(("method", "path"), [("POST", "keys"), ("PUT", "members/none")])
def test_a_project_that_is_not_there_is_told_before_the_body_arrives(shared: Api, method: str, path: str) -> None:
    admin: Session = shared.person(Role.ADMIN)
    sent = HEAD.format(method, f"/v1/workspaces/local/projects/none/{path}", _cookie(shared, admin))
    sent = sent.replace("Host: localhost", f"Host: {urlsplit(shared.url).netloc}")
    assert shared.raw(sent.encode()).startswith(b"HTTP/1.1 404 ")


def _cookie(api: Api, session: Session) -> str:
    return f"Cookie: {session_cookie(api.url, session.token)}\r\nOrigin: {api.url}\r\n"
