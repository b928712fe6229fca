"""Requests that are too long or too slow, over real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from everloop import listening, server
from everloop.api import connection
from everloop.settings import Settings


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with scheme, client and the length of the body."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
        return
    request = Request(scope, receive)
    body = await request.body()
    assert request.client is not None
    await PlainTextResponse(f"{request.url.scheme} {request.client.host} {len(body)}")(scope, receive, send)


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    settings = Settings(trusted_proxy=getattr(request, "param", ""))
    with listening.loopback_port(0) as listener:
        running = uvicorn.Server(server.configured(app, settings))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        while not running.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        running.should_exit = True
        thread.join(20)


def answer(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """Everything that comes back until the server closes; empty when it closes without a word."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        try:
            for part in parts:
                raw.sendall(part)
                time.sleep(pause)
            while more := raw.recv(65536):
                found += more
        except ConnectionError:
            pass
    return found


def get(*headers: str, path: str = "/") -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]).encode()


def test_an_ordinary_request_is_answered(port: int) -> None:
    assert answer(port, get()).endswith(b"http 127.0.0.1 0")


def test_a_body_of_many_mebibytes_is_no_matter_of_the_head(port: int) -> None:
    size = 8 * 1024 * 1024
    found = answer(port, get(f"Content-Length: {size}") + bytes(size))
    assert found.endswith(f" {size}".encode())


@pytest.mark.parametrize(
    "head",
    [
        get(f"X: {'y' * connection.HEAD_BYTES}"),
        get(*(f"X-{n}: {'y' * 700}" for n in range(99))),
        get(path="/" + "y" * connection.HEAD_BYTES),
        get(*(f"X-{n}: y" for n in range(connection.HEADERS))),
        b"GET / HTTP/1.1\r\nX: " + b"y" * 4 * connection.HEAD_BYTES,
    ],
    ids=["one header", "many headers", "address", "number of headers", "no end"],
)
def test_a_head_that_is_too_long_is_refused(port: int, head: bytes) -> None:
    assert answer(port, head).startswith(b"HTTP/1.1 400 ")


def test_a_head_that_comes_in_pieces_is_counted_as_a_whole(port: int) -> None:
    piece = b"y" * (connection.HEAD_BYTES // 4)
    assert answer(port, b"GET / HTTP/1.1\r\nX: ", *[piece] * 5, pause=0.05).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("begun", [b"", b"GET", b"GET / HTTP/1.1\r\nX", get().replace(b"close", b"keep-alive") + b"G"])
def test_a_head_that_never_ends_ends_the_connection(port: int, monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    began = time.monotonic()
    found = answer(port, begun)
    assert time.monotonic() - began < 10
    assert found.count(b"HTTP/1.1") == begun.count(b"\r\n\r\n")


def test_a_body_that_never_ends_ends_the_connection(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.3)
    assert answer(port, get("Content-Length: 5") + b"ab") == b""


def test_a_request_whose_answer_takes_long_is_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.5)
    found = answer(port, get("Content-Length: 4"), b"ab", b"cd", pause=0.2)
    assert found.endswith(b" 4")


FORWARDED = ("X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https")


def test_forwarded_headers_of_a_stranger_are_ignored(port: int) -> None:
    assert answer(port, get(*FORWARDED)).endswith(b"http 127.0.0.1 0")


@pytest.mark.parametrize("port", ["10.0.0.0/8", "127.0.0.2"], indirect=True)
def test_forwarded_headers_of_a_proxy_that_is_not_named_are_ignored(port: int) -> None:
    assert answer(port, get(*FORWARDED)).endswith(b"http 127.0.0.1 0")


@pytest.mark.parametrize("port", ["127.0.0.1", "10.0.0.1, 127.0.0.0/8"], indirect=True)
def test_forwarded_headers_of_a_trusted_proxy_are_believed(port: int) -> None:
    assert answer(port, get(*FORWARDED)).endswith(b"https 192.0.2.7 0")


@pytest.mark.parametrize("port", ["127.0.0.1"], indirect=True)
def test_what_the_client_itself_put_before_the_proxy_is_not_believed(port: int) -> None:
    assert answer(port, get("X-Forwarded-For: 203.0.113.9, 192.0.2.7")).endswith(b"http 192.0.2.7 0")


def test_the_software_is_not_named(port: int) -> None:
    assert b"server:" not in answer(port, get()).lower()
