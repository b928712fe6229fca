from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from scripted import ScriptedServer

from everloop.errors import ModelNotConfigured
from everloop.gateway import libraries
from everloop.gateway.base import KeySource, ModelEntry
from everloop.gateway.probe import Link, Pace, walk

KEY = "sk-test-0123456789-not-for-others"
PACE = Pace(step=1.0, idle=0.3)
MODELS = {"object": "list", "data": [{"id": "scripted"}]}

Serve = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def entry(url: str, provider: str = "openai") -> ModelEntry:
    return ModelEntry(name="one", provider=provider, model="scripted", base_url=url, key_source=KeySource.FILE)


def walked(url: str, pace: Pace = PACE, provider: str = "openai", **changed: object) -> list[Link]:
    links = walk(replace(entry(url, provider), **changed), lambda _: KEY, pace)  # type: ignore[arg-type]
    assert KEY not in repr(links)
    return links


def last(url: str, **more: object) -> Link:
    """The link at which the walk ended; all before it are sound."""
    *before, end = walked(url, **more)  # type: ignore[arg-type]
    assert [link.result for link in before if link.result == "fail"] == []
    return end


@contextmanager
def raw(serve: Serve) -> Iterator[int]:
    """A port whose connections are each given to `serve` in a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        threads: list[threading.Thread] = []
        ended = threading.Event()

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                serve(connection)

        def accept() -> None:
            listening.settimeout(0.05)
            while not ended.is_set():
                with suppress(TimeoutError):
                    connection = listening.accept()[0]
                    connection.settimeout(5)
                    threads.append(threading.Thread(target=one, args=(connection,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            ended.set()
            accepting.join()
            for thread in threads:
                thread.join(10)


def asked(connection: socket.socket) -> bytes:
    """One request's head; empty when the other side has left."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(4096)
        if not part:
            return b""
        head += part
    return head


def answer(status: int, document: object = MODELS, *more: str) -> bytes:
    body = json.dumps(document).encode()
    lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(body)}", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def always(status: int, document: object = MODELS, *more: str) -> Serve:
    def serve(connection: socket.socket) -> None:
        while asked(connection):
            connection.sendall(answer(status, document, *more))

    return serve


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_sound_endpoint_is_walked_to_its_end_without_a_paid_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer() as server:
        links = walked(server.url)
    assert [(link.link, link.result) for link in links] == [
        (name, "ok") for name in ("network", "endpoint", "library", "concurrency", "connection")
    ]
    assert {request.path for request in server.requests} == {"/v1/models"}
    assert server.tokens.answered == 0
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert KEY not in caplog.text


def test_anthropic_is_asked_in_its_own_way() -> None:
    with ScriptedServer() as server:
        url = server.url.removesuffix("/v1")
        seen: list[bytes] = []

        def serve(connection: socket.socket) -> None:
            while head := asked(connection):
                seen.append(head)
                connection.sendall(answer(200))

        with raw(serve) as port:
            links = walked(url.replace(str(server.port), str(port)), provider="anthropic")
    assert [link.result for link in links] == ["ok"] * 5
    assert seen[0].startswith(b"GET /v1/models?limit=1000 ")
    assert f"x-api-key: {KEY}".encode() in seen[0].lower()
    assert b"anthropic-version: 2023-06-01" in seen[0].lower()
    assert "anthropic " in links[2].told


def test_a_refused_port_ends_the_walk_at_the_network() -> None:
    port = free_port()
    links = walked(f"http://127.0.0.1:{port}/v1")
    assert [link.link for link in links] == ["network"]
    assert links[0].result == "fail"
    assert f"127.0.0.1:{port}: connections are refused" in links[0].told
    assert "Start the server" in links[0].then


def test_a_name_that_does_not_resolve_ends_the_walk_at_the_network() -> None:
    link = last("https://no-such-host.invalid/v1", pace=replace(PACE, step=5.0))
    assert (link.link, link.result) == ("network", "fail")
    assert "no-such-host.invalid:443: its name" in link.told
    assert "DNS" in link.then


def test_a_resolver_that_hangs_does_not_hang_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        ended.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    begun = time.monotonic()
    link = last("http://slow.test/v1")
    ended.set()
    assert time.monotonic() - begun < 5
    assert (link.link, link.result) == ("network", "fail")
    assert "not resolved within 1 s" in link.told


def test_an_address_that_swallows_packets_does_not_hang_the_walk() -> None:
    # A full backlog: the kernel drops further connections, as a firewall would.
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        port = listening.getsockname()[1]
        held = [socket.socket() for _ in range(4)]
        for one in held:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        link = last(f"http://127.0.0.1:{port}/v1")
        for one in held:
            one.close()
    assert (link.link, link.result) == ("network", "fail")
    assert "no connection within 1 s" in link.told
    assert "firewall" in link.then


def test_a_server_that_takes_connections_and_never_answers_is_bounded() -> None:
    def hang(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    begun = time.monotonic()
    with raw(hang) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert time.monotonic() - begun < 5
    assert (link.link, link.result) == ("endpoint", "fail")
    assert "does not answer in 1 s" in link.told


def test_an_answer_that_drips_in_is_bounded() -> None:
    def drip(connection: socket.socket) -> None:
        asked(connection)
        for byte in answer(200):
            connection.sendall(bytes([byte]))
            time.sleep(0.1)

    begun = time.monotonic()
    with raw(drip) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert time.monotonic() - begun < 5
    assert (link.link, link.result) == ("endpoint", "fail")


def test_tls_to_a_plain_port_is_told_apart() -> None:
    def plain(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    with raw(plain) as port:
        link = last(f"https://127.0.0.1:{port}/v1")
    assert (link.link, link.result) == ("endpoint", "fail")
    assert "speaks no TLS" in link.told
    assert "http://" in link.then


def test_a_port_that_speaks_no_http_is_told_apart() -> None:
    with raw(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert (link.link, link.result) == ("endpoint", "fail")
    assert "answers no HTTP" in link.told
    assert "Check the port" in link.then


@pytest.mark.parametrize(
    ("status", "result", "told"),
    [
        (401, "fail", "the key is refused"),
        (403, "fail", "the key is refused"),
        (404, "fail", "the path of the base URL is wrong"),
        (307, "fail", "sends callers elsewhere"),
        (500, "fail", "not well"),
        (503, "fail", "not well"),
    ],
)
def test_a_status_is_understood(status: int, result: str, told: str) -> None:
    # An endpoint may repeat the key in its error: none of its text is passed on.
    with raw(always(status, {"error": {"message": f"Incorrect API key provided: {KEY}"}})) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert (link.link, link.result) == ("endpoint", result)
    assert told in link.told
    assert link.then


def test_a_missing_key_is_told_apart_from_a_refused_one() -> None:
    with raw(always(401)) as port:
        *_, link = walk(entry(f"http://127.0.0.1:{port}/v1"), lambda _: None, PACE)
    assert "wants a key and the model has none" in link.told
    assert "--key-env" in link.then


def test_a_key_that_cannot_be_read_ends_the_walk_at_the_endpoint() -> None:
    def none(_: ModelEntry) -> str:
        raise ModelNotConfigured("model one has no key", why="ACME_KEY is not set", then="Set ACME_KEY")

    with ScriptedServer() as server:
        links = walk(entry(server.url), none, PACE)
    assert [link.link for link in links] == ["network", "endpoint"]
    assert links[-1] == Link("endpoint", "fail", "model one has no key: ACME_KEY is not set", "Set ACME_KEY")
    assert server.requests == []


def test_a_model_that_the_endpoint_does_not_have_is_a_warning() -> None:
    with ScriptedServer() as server:
        links = walked(server.url, model="another")
    assert links[1].result == "warn"
    assert "without the model another" in links[1].told
    assert "scripted" in links[1].then


def test_something_other_than_a_list_of_models_is_a_warning() -> None:
    with raw(always(200, {"hello": "world"})) as port:
        links = walked(f"http://127.0.0.1:{port}/v1")
    assert links[1].result == "warn"
    assert "no list of models" in links[1].told


def test_a_burst_is_as_wide_as_the_model_allows_and_no_wider() -> None:
    together = threading.Barrier(3, timeout=3)

    def serve(connection: socket.socket) -> None:
        asked(connection)
        with suppress(threading.BrokenBarrierError):
            together.wait(0.3)
        connection.sendall(answer(200, MODELS, "connection: close"))

    with raw(serve) as port:
        links = walked(f"http://127.0.0.1:{port}/v1", concurrency=3)
    assert links[3].told.startswith("3 at once: median ")


def test_a_limit_that_is_reached_is_a_warning_with_the_remedy() -> None:
    count = iter(range(100))

    def serve(connection: socket.socket) -> None:
        while asked(connection):
            connection.sendall(answer(429 if next(count) > 1 else 200))

    with raw(serve) as port:
        links = walked(f"http://127.0.0.1:{port}/v1")
    assert links[3].result == "warn"
    assert re.match(r"\d of 8 requests at once are answered 429", links[3].told)
    assert "--concurrency" in links[3].then


def test_requests_at_once_that_are_cut_off_end_the_walk() -> None:
    count = iter(range(100))

    def serve(connection: socket.socket) -> None:
        if asked(connection) and next(count) < 1:
            connection.sendall(answer(200, MODELS, "connection: close"))

    with raw(serve) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert (link.link, link.result) == ("concurrency", "fail")
    assert "8 of 8 requests at once fail" in link.told


@pytest.mark.parametrize(("deadline", "word"), [(2.0, "short"), (3600.0, "long")])
def test_a_deadline_that_is_not_sane_is_a_warning(deadline: float, word: str) -> None:
    with ScriptedServer() as server:
        links = walked(server.url, replace(PACE, deadline=deadline))
    assert links[3].result == "warn"
    assert links[3].told.endswith(f"is {word}")
    assert "EVERLOOP_MODEL_DEADLINE_SECONDS" in links[3].then


def test_a_server_that_closes_idle_connections_is_a_warning() -> None:
    def serve(connection: socket.socket) -> None:
        connection.settimeout(0.1)
        while asked(connection):
            connection.sendall(answer(200))

    with raw(serve) as port:
        links = walked(f"http://127.0.0.1:{port}/v1")
    assert (links[-1].link, links[-1].result) == ("connection", "warn")
    assert "closes after 0.3 s idle" in links[-1].told


def test_a_connection_that_dies_unseen_while_it_is_idle_is_a_failure() -> None:
    def serve(connection: socket.socket) -> None:
        begun = time.monotonic()
        while asked(connection):
            if time.monotonic() - begun > 0.2:
                time.sleep(1.5)  # what is sent now vanishes, as behind a firewall that forgot the connection
                return
            connection.sendall(answer(200))

    with raw(serve) as port:
        link = last(f"http://127.0.0.1:{port}/v1")
    assert (link.link, link.result) == ("connection", "fail")
    assert "after 0.3 s idle" in link.told
    assert "firewall" in link.then


def test_a_proxy_of_the_environment_is_what_is_dialled_and_its_password_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer() as server:
        monkeypatch.setenv("http_proxy", f"http://me:hunter2@127.0.0.1:{server.port}")
        links = walked("http://models.test/v1")
        assert links[0].told.startswith(f"the proxy 127.0.0.1:{server.port} is 127.0.0.1")
        assert [link.result for link in links[:4]] == ["ok"] * 4
        assert f"through the proxy 127.0.0.1:{server.port}" in links[-1].told
    assert "hunter2" not in repr(links)


@pytest.mark.parametrize(("proxy", "at"), [("socks5://127.0.0.1:{}", 1), ("http://127.0.0.1:{}x", 0)])
def test_a_proxy_that_cannot_be_used_ends_the_walk(monkeypatch: pytest.MonkeyPatch, proxy: str, at: int) -> None:
    with ScriptedServer() as server:
        monkeypatch.setenv("http_proxy", proxy.format(server.port))
        links = walked("http://models.test/v1")
    assert [link.result for link in links] == ["ok"] * at + ["fail"]
    assert "proxy" in links[-1].then


def test_a_host_that_is_excepted_from_the_proxy_is_dialled_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ScriptedServer() as server:
        links = walked(server.url)
    assert [link.result for link in links] == ["ok"] * 5
    assert "no proxy" in links[-1].told


def test_a_provider_whose_endpoint_only_its_library_knows_is_a_warning() -> None:
    links = walk(replace(entry(""), provider="groq"), lambda _: KEY, PACE)
    assert [(link.link, link.result) for link in links] == [("network", "warn")]
    assert "el model test one" in links[0].then


def test_libraries_are_compared_with_what_the_installed_packages_need(monkeypatch: pytest.MonkeyPatch) -> None:
    assert libraries.library(anthropic=False).result == "ok"
    assert libraries.least("everloop", "pydantic-ai-slim") == "2.68"
    monkeypatch.setattr(libraries, "version", lambda name: "1.0" if name == "openai" else "2.68.0")
    found = libraries.library(anthropic=False)
    assert found.result == "fail"
    assert re.match(r"openai 1\.0 is too old: [\d.]+ or later is needed", found.told)


def test_a_library_that_is_too_old_ends_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "version", lambda _: "0.1")
    with ScriptedServer() as server:
        link = last(server.url)
    assert (link.link, link.result) == ("library", "fail")
