from __future__ import annotations

import json
import socket
import time
from typing import Any

import httpx2
import openai
import pytest
from scripted import Reply
from serving import ASKED, SUM, Served, port_of, refused, script

from everloop.gateway.serving.doors import BODY_BYTES


def _referring(word: str) -> dict[str, Any]:
    """A tool whose schema refers to a definition, deep inside."""
    schema = {"type": "object", "properties": {"a": {"anyOf": [{word: "#/$defs/x"}]}}, "$defs": {"x": {}}}
    return {"type": "function", "function": {"name": "f", "parameters": schema}}


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff", b"", b"null", b'{"model": "small"}', b'{"model": "small", "messages": []}']
)
def test_a_malformed_body_is_refused(served: Served, content: bytes) -> None:
    got = served.post(served.key(), content=content)
    assert got.status_code == 400
    assert set(got.json()["error"]) == {"message", "type", "param", "code"}


def test_a_deep_body_is_refused(served: Served) -> None:
    deep = b'{"model": "small", "messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert served.post(served.key(), content=deep).status_code == 400


@pytest.mark.parametrize(
    "asked",
    [
        {"n": 2},
        {"logprobs": True},
        {"temperature": 9},
        {"max_tokens": 0},
        {"tool_choice": "required"},
        {"tools": [SUM, SUM]},
        {"tools": [SUM], "tool_choice": {"type": "function", "function": {"name": "sub"}}},
        {"response_format": {"type": "json_object"}},
        {"tools": [_referring("$ref")]},
        {"tools": [SUM, _referring("$dynamicRef")]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/$defs/x"}}}},
        {"messages": [{"role": "tool", "tool_call_id": "a", "content": "b"}]},
        {"messages": [{"role": "assistant"}]},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y"}}]}]},
    ],
)
def test_what_is_not_offered_is_refused(served: Served, asked: dict[str, Any]) -> None:
    assert isinstance(refused(served, served.key(), **asked), openai.BadRequestError)
    assert served.upstream.requests == []


def test_a_body_may_have_a_mebibyte(served: Served) -> None:
    key = served.key(usd_cap=1000)
    document = {"model": "small", "messages": [{"role": "user", "content": ""}]}
    room = BODY_BYTES - len(json.dumps(document))
    document["messages"] = [{"role": "user", "content": "x" * room}]
    content = json.dumps(document).encode()
    assert len(content) == BODY_BYTES
    assert served.post(key, content=content).status_code == 200
    assert served.post(key, content=content + b" ").status_code == 413


def test_a_body_that_never_arrives_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloop.gateway.serving.doors.BODY_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", port_of(served))) as caller:
        head = ["POST /v1/chat/completions HTTP/1.1", "host: localhost", f"authorization: Bearer {served.key()}"]
        caller.sendall("\r\n".join([*head, "content-length: 9", "", "{"]).encode())
        assert caller.recv(4096).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("size", [2 * BODY_BYTES, 20 * BODY_BYTES])
def test_a_streamed_body_that_is_too_large_is_refused(served: Served, size: int) -> None:
    pieces = (b"x" * 65536 for _ in range(size // 65536))
    try:
        got = served.post(served.key(), content=pieces)
    except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
        assert size > 8 * BODY_BYTES  # cut off, so that it does not go on for ever
        return
    assert (got.status_code, got.json()["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "example.com:127", "[::1", ""])
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    got = served.post(served.key(), headers={"host": host}, json={"model": "small", "messages": ASKED})
    assert (got.status_code, got.json()["error"]["code"]) == (403, "host_refused")


def test_localhost_is_served(served: Served) -> None:
    got = served.post(served.key(), headers={"host": "localhost:1"}, json={"model": "small", "messages": ASKED})
    assert got.status_code == 200


@pytest.mark.parametrize("origin", ["https://example.com", "null", "file://", "http://127.0.0.1.example.com"])
def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    got = served.post(served.key(), headers={"origin": origin}, json={"model": "small", "messages": ASKED})
    assert (got.status_code, got.json()["error"]["code"]) == (403, "origin_refused")
    assert served.upstream.requests == []


@pytest.mark.parametrize("path", ["/v1/none", "/", "/v1/chat/completions/"])
def test_another_route_is_not_found(served: Served, path: str) -> None:
    with httpx2.Client() as client:
        got = client.get(served.url.removesuffix("/v1") + path)
    assert (got.status_code, got.json()["error"]["code"]) == (404, "not_found")


def test_another_method_is_refused(served: Served) -> None:
    with httpx2.Client() as client:
        got = client.get(f"{served.url}/chat/completions")
    assert (got.status_code, got.json()["error"]["code"]) == (405, "method_not_allowed")


def test_too_many_at_once_are_told_to_come_back(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloop.gateway.serving.doors.REQUESTS", 0)
    error = refused(served, served.key())
    assert (error.status_code, error.code) == (503, "overloaded")
    assert "retry-after" in error.response.headers


def test_a_reader_who_does_not_read_loses_the_place(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloop.gateway.serving.doors.READ_SECONDS", 0.3)
    monkeypatch.setattr("everloop.gateway.serving.doors.REQUESTS", 1)
    script(served, Reply(text="x" * 8_000_000), Reply())
    key = served.key()
    body = json.dumps({"model": "small", "messages": ASKED, "stream": True}).encode()
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", port_of(served)))
        head = ["POST /v1/chat/completions HTTP/1.1", "host: localhost", f"authorization: Bearer {key}"]
        reader.sendall("\r\n".join([*head, f"content-length: {len(body)}", "", ""]).encode() + body)
        assert reader.recv(12) == b"HTTP/1.1 200"
        asked = {"model": "small", "messages": ASKED}
        assert served.post(key, json=asked).json()["error"]["code"] == "overloaded"
        deadline = time.monotonic() + 20
        while served.post(key, json=asked).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
