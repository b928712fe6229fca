"""Before every route: names, sizes, ids, and what happens when something breaks."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from calling import Api
from starlette.types import Message, Receive, Scope, Send

from everloop.api import doors
from everloop.api.doors import BODY, LARGE, Doors
from everloop.settings import Settings

RUNS = "/v1/agent-runs/rsi/runs"


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost", "LOCALHOST:8711", "[::1]:8711"])
def test_this_machine_s_names_are_answered_to(shared: Api, host: str) -> None:
    assert shared.get("/healthz", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1@evil.example"])
def test_other_names_are_not(shared: Api, host: str) -> None:
    refused = shared.get("/healthz", headers={"Host": host})
    assert refused.status in {400, 403}


def test_the_public_name_is_answered_to(tmp_path: Path) -> None:
    with Api(tmp_path, public_url="https://loops.example.org/everloop") as api:
        assert api.get("/healthz", headers={"Host": "loops.example.org"}).status == 200
        assert api.get("/healthz", headers={"Host": "evil.example"}).status == 403


@pytest.mark.parametrize("host", ["127.0.0.2", "::ffff:127.0.0.1", "localhost", "::1"])
def test_at_no_loopback_address_any_name_is_answered_to(tmp_path: Path, host: str) -> None:
    own = f"[{host}]" if ":" in host else host
    with Api(tmp_path, host=host) as api:
        sent = "GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"
        assert b" 200 " in api.raw(sent.format(own).encode()).splitlines()[0]
        assert b" 403 " in api.raw(sent.format("evil.example").encode()).splitlines()[0]


def test_a_request_keeps_its_id(shared: Api) -> None:
    assert shared.get("/healthz", headers={"X-Request-ID": "a-1.B_2"}).headers["x-request-id"] == "a-1.B_2"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "é"])
def test_an_id_that_no_log_should_hold_is_replaced(shared: Api, given: str) -> None:
    told = shared.get("/healthz", headers={"X-Request-ID": given.encode()}).headers["x-request-id"]  # type: ignore[dict-item]
    assert told != given
    assert len(told) == 16


@pytest.mark.parametrize("path", ["/v1/nothing", "/api/v1/nothing", "/v2/agent-runs", "/v1/agent-runs/rsi/runs/"])
def test_an_unknown_address_is_an_envelope(shared: Api, path: str) -> None:
    refused = shared.get(path, key=shared.key())
    assert (refused.status, refused.code) == (404, "NOT_FOUND")


def test_a_method_that_is_not_taken_is_an_envelope_with_those_that_are(shared: Api) -> None:
    refused = shared.delete(RUNS, key=shared.key())
    assert (refused.status, refused.code) == (405, "METHOD_NOT_ALLOWED")
    assert set(refused.headers["allow"].split(", ")) <= {"GET", "POST"}


def test_a_declared_body_that_is_too_long_is_refused(shared: Api) -> None:
    refused = shared.post(RUNS, key=shared.key(), content=b"x" * 100_000_000)
    assert (refused.status, refused.code) == (413, "PAYLOAD_TOO_LARGE")


def test_an_undeclared_body_that_is_too_long_is_refused(shared: Api) -> None:
    refused = shared.post(RUNS, key=shared.key(), content=(b"x" * 65536 for _ in range(40)))
    assert (refused.status, refused.code) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_just_long_enough_reaches_its_route(shared: Api) -> None:
    assert shared.post(RUNS, key=shared.key(), content=b" " * (1024 * 1024)).code == "INVALID_RSI_REQUEST"


@pytest.mark.parametrize("length", [b"-1", b"abc", b"1e3"])
def test_a_length_that_is_none_is_refused(shared: Api, length: bytes) -> None:
    sent = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %b\r\nConnection: close\r\n\r\n"
    assert b" 400 " in shared.raw(sent % (RUNS.encode(), length)).splitlines()[0]


@pytest.mark.parametrize("path", [f"{RUNS}/a%00b/live", f"{RUNS}/a/live?since=%00"])
def test_a_zero_byte_in_an_address_is_nothing(shared: Api, path: str) -> None:
    assert shared.get(path, key=shared.key()).status == 404


@pytest.mark.parametrize("name", ["a%2Fb", "a%2F..%2Fb", "a%252Fb", "%2F", "a%3Fb", "a%23b", "%F0%9F%98%80", "%FF"])
def test_a_segment_is_decoded_after_splitting(shared: Api, name: str) -> None:
    refused = shared.get(f"{RUNS}/{name}/live", key=shared.key())
    assert (refused.status, refused.code) == (404, "RSI_RUN_NOT_FOUND")


def test_what_breaks_inside_is_logged_and_told_without_its_details(
    shared: Api, caplog: pytest.LogCaptureFixture
) -> None:
    @shared.app.get("/v1/breaks")
    def breaks() -> None:
        raise ZeroDivisionError("the secret of the house")

    with caplog.at_level(logging.ERROR, "everloop.api"):
        refused = shared.get("/v1/breaks", headers={"X-Request-ID": "find-me"})
    assert (refused.status, refused.code) == (500, "INTERNAL_SERVER_ERROR")
    assert "find-me" in refused.text
    assert "secret" not in refused.text
    assert "find-me" in caplog.text
    assert "ZeroDivisionError" in caplog.text


class Large:
    """Requests with large bodies at doors whose application keeps what it read until it is told to go on."""

    def __init__(self, tmp_path: Path) -> None:
        self.reading, self.go_on, self.statuses = 0, asyncio.Event(), list[int]()
        self.doors = Doors(self._app, settings=Settings(home=tmp_path), note=self._note)

    async def send(self, piece: int = BODY + 1) -> None:
        headers = [(b"host", b"localhost"), (b"content-length", str(BODY + 1).encode())]
        scope = {"type": "http", "method": "POST", "path": "/v1/job", "headers": headers}
        pieces = [{"type": "http.request", "body": b"x" * piece, "more_body": piece <= BODY}]

        async def receive() -> Message:
            self.reading += 1
            return pieces.pop() if pieces else await asyncio.Event().wait()  # type: ignore[return-value]

        await self.doors(scope, receive, self._sent)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self.statuses.append(status)

    async def _sent(self, message: Message) -> None:
        pass


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_so_many_large_bodies_are_held_at_once_and_the_next_one_waits_unread(tmp_path: Path) -> None:
    async def run() -> None:
        large = Large(tmp_path)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(LARGE + 2):
                tasks.create_task(large.send())
            await settled()
            assert large.reading == LARGE
            large.go_on.set()
        assert (large.reading, large.statuses) == (LARGE + 2, [200] * (LARGE + 2))

    asyncio.run(run())


def test_a_large_body_that_waits_too_long_is_told_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr(doors, "LARGE_WAIT_SECONDS", 0.01)
        large = Large(tmp_path)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(LARGE):
                tasks.create_task(large.send())
            await settled()
            await large.send()
            assert large.statuses == [429]
            large.go_on.set()

    asyncio.run(run())


def test_a_large_body_that_does_not_arrive_gives_its_place_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        monkeypatch.setattr(doors, "LARGE_SECONDS", 0.01)
        large = Large(tmp_path)
        for _ in range(LARGE + 1):
            await large.send(piece=10)
        assert large.statuses == [429] * (LARGE + 1)

    asyncio.run(run())


def test_answers_are_neither_guessed_at_nor_kept(shared: Api) -> None:
    answer = shared.get(RUNS, key=shared.key())
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
