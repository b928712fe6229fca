"""Following: the pure readers, and runs at a real server that is killed, and at one that refuses for a while."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from remote_server import Answer, Asked, RealServer, StandIn

from everloop import AsyncClient, Client
from everloop.client import InvalidAnswer, RemoteError, Unreachable
from everloop.client.errors import refusal
from everloop.client.follow import FIRST_WAIT, LONGEST_WAIT, PAGE_EVENTS, Following, Logging, Patience
from everloop.events import Json

Make = Callable[[Callable[[Asked], Answer]], StandIn]


def live(state: str, *seqs: int) -> Json:
    return {"state": state, "events": [{"seq": seq} for seq in seqs], "next_cursor": seqs[-1] if seqs else 0}


@given(total=st.integers(0, 1200), page=st.integers(1, PAGE_EVENTS), since=st.integers(0, 1200))
def test_every_event_is_given_once_and_in_order(total: int, page: int, since: int) -> None:
    reader, seen = Following(since), list[object]()
    while not reader.ended:
        found = list(range(reader.since + 1, min(reader.since + page, total) + 1))
        events = reader.take(live("finished", *found))["events"]
        assert isinstance(events, list)
        seen += [event["seq"] for event in events if isinstance(event, dict)]
    assert seen == list(range(since + 1, total + 1))


def test_events_that_come_again_are_not_given_again() -> None:
    reader = Following()
    reader.take(live("running", 1, 2))
    assert reader.take(live("running", 1, 2, 3))["events"] == [{"seq": 3}]


def test_an_ended_run_is_looked_at_until_nothing_is_new() -> None:
    reader = Following()
    reader.take(live("finished", 1))
    assert (reader.ended, reader.behind) == (False, True)
    reader.take(live("finished"))
    assert reader.ended and not reader.waits


def test_a_full_page_is_followed_by_the_next_at_once() -> None:
    reader = Following()
    reader.take(live("running", *range(1, PAGE_EVENTS + 1)))
    assert not reader.waits
    reader.take(live("running", PAGE_EVENTS + 1))
    assert reader.waits


def test_a_log_ends_when_it_is_complete_and_read() -> None:
    reader = Logging()
    reader.take({"items": [], "next_cursor": "a", "has_more": True, "eof": True})
    assert (reader.ended, reader.behind, reader.cursor) == (False, True, "a")
    reader.take({"items": [], "next_cursor": None, "has_more": False, "eof": True})
    assert reader.ended and reader.cursor == "a"


def test_waits_grow_to_a_bound_and_begin_anew_after_an_answer() -> None:
    patience = Patience()
    waits = [patience.wait(Unreachable("away")) for _ in range(8)]
    assert waits[0] == FIRST_WAIT and waits[-1] == LONGEST_WAIT
    assert all(later >= sooner for sooner, later in pairwise(waits))
    patience.answered()
    assert patience.wait(Unreachable("away")) == FIRST_WAIT


def test_a_wait_the_server_asks_for_is_kept() -> None:
    assert Patience().wait(refusal(429, "RATE_LIMITED", "", 7.0)) == 7.0


@pytest.mark.parametrize("http", [400, 401, 403, 404, 409, 422])
def test_a_refusal_that_would_come_again_is_raised(http: int) -> None:
    with pytest.raises(RemoteError):
        Patience().wait(refusal(http, None, "", None))


def test_patience_ends() -> None:
    patience = Patience(seconds=0.0)
    patience.wait(Unreachable("away"))
    time.sleep(0.01)
    with pytest.raises(Unreachable):
        patience.wait(Unreachable("away"))


def followed(client: Client, run: str) -> list[object]:
    found = []
    for document in client.follow(run, poll_seconds=0.05):
        events = document["events"]
        assert isinstance(events, list)
        found += [event["seq"] for event in events if isinstance(event, dict)]
    return found


def test_an_ended_run_gives_all_its_events(server: RealServer) -> None:
    server.run("ended-450", 449, "finished")
    with Client(server.url, api_key=server.key()) as client:
        assert followed(client, "ended-450") == list(range(1, 451))


def test_the_async_client_follows_as_well(server: RealServer) -> None:
    server.run("ended-async", 449, "failed")

    async def follow() -> list[Json]:
        async with AsyncClient(server.url, api_key=server.key()) as client:
            return [document async for document in client.follow("ended-async", poll_seconds=0.05)]

    found = asyncio.run(follow())
    seqs = [event["seq"] for one in found for event in one["events"]]  # type: ignore[index, union-attr, call-overload]
    assert seqs == list(range(1, 451)) and found[-1]["state"] == "failed"


def test_a_server_killed_for_three_seconds_loses_and_repeats_nothing(own_server: RealServer) -> None:
    own_server.run("cut", 100)
    key, seen, away = own_server.key(), list[object](), list[int | None]()

    def restart() -> None:
        own_server.kill()
        own_server.happen("cut", 250)
        time.sleep(3.0)
        own_server.start()
        own_server.happen("cut", 99)
        own_server.end("cut")

    restarting = threading.Thread(target=restart)
    with Client(own_server.url, api_key=key) as client:
        for document in client.follow("cut", poll_seconds=0.05, missed=lambda error, _: away.append(error.http)):
            events = document["events"]
            assert isinstance(events, list)
            seen += [event["seq"] for event in events if isinstance(event, dict)]
            if restarting.ident is None:
                restarting.start()
    restarting.join()
    assert seen == list(range(1, 451))
    assert away and set(away) == {None}


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_refusal_for_a_while_is_survived(status: int, stand_in: Make) -> None:
    def answer(asked: Asked) -> Answer:
        if len(served.asked) in {1, 2}:
            return status, {"code": "RATE_LIMITED", "message": "m"}, {"Retry-After": "0"}
        since = int(asked.path.partition("since=")[2])
        return 200, live("finished", *range(since + 1, 4)), {}

    served = stand_in(answer)
    with Client(served.url) as client:
        assert followed(client, "r") == [1, 2, 3]


def test_retry_after_is_kept(stand_in: Make) -> None:
    def answer(_: Asked) -> Answer:
        if len(served.asked) == 1:
            return 429, {"code": "RATE_LIMITED", "message": "m"}, {"Retry-After": "1"}
        return 200, live("stopped"), {}

    served, began = stand_in(answer), time.monotonic()
    with Client(served.url) as client:
        assert followed(client, "r") == []
    assert 1.0 <= time.monotonic() - began < 5.0


def test_an_answer_that_breaks_off_is_asked_for_again(stand_in: Make) -> None:
    def answer(asked: Asked) -> Answer:
        if len(served.asked) == 1:
            return 200, b'{"state": "finished", "events": [{"seq": 1}', {"Content-Length": "999", "Connection": "close"}
        since = int(asked.path.partition("since=")[2])
        return 200, live("finished", *range(since + 1, 3)), {}

    served = stand_in(answer)
    with Client(served.url) as client:
        assert followed(client, "r") == [1, 2]


@pytest.mark.parametrize("document", [{}, {"state": "running"}, {"state": None, "events": []}], ids=str)
def test_a_document_of_another_kind_is_not_waited_upon(document: Json, stand_in: Make) -> None:
    with Client(stand_in(lambda _: (200, document, {})).url) as client, pytest.raises(InvalidAnswer):
        followed(client, "r")


def test_a_run_that_is_not_there_ends_following_at_once(server: RealServer) -> None:
    from everloop.errors import RunNotFound

    with Client(server.url, api_key=server.key()) as client, pytest.raises(RunNotFound) as raised:
        followed(client, "absent")
    assert isinstance(raised.value, RemoteError) and raised.value.http == 404
