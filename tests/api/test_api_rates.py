"""Rate limits: of a key, and of an address whose keys are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from calling import Api

from everloop.api.rates import Rates
from everloop.errors import RateLimited
from everloop.service.permissions import KeyKind

RUNS = "/v1/agent-runs/rsi/runs"


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    seconds: float = 600.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slow(tmp_path: Path, clock: Clock) -> Iterator[Api]:
    with Api(tmp_path / "api", api_requests_per_minute=100, clock=clock) as server:
        yield server


def test_a_key_has_so_many_requests_a_minute(slow: Api) -> None:
    statuses = [slow.get(RUNS, key=slow.key()).status for _ in range(101)]
    assert statuses == [200] * 100 + [429]
    refused = slow.get(RUNS, key=slow.key())
    assert refused.code == "RATE_LIMITED"
    assert refused.headers["retry-after"] == "60"


def test_a_key_has_room_again_when_the_window_has_moved_on(slow: Api, clock: Clock) -> None:
    for _ in range(100):
        slow.get(RUNS, key=slow.key())
    clock.seconds += 60  # all of them still count
    assert slow.get(RUNS, key=slow.key()).status == 429
    clock.seconds += 30  # half of them do
    assert [slow.get(RUNS, key=slow.key()).status for _ in range(51)] == [200] * 50 + [429]
    clock.seconds += 90
    assert [slow.get(RUNS, key=slow.key()).status for _ in range(101)] == [200] * 100 + [429]


def test_another_key_has_its_own(slow: Api) -> None:
    for _ in range(101):
        slow.get(RUNS, key=slow.key())
    assert slow.get(RUNS, key=slow.key(KeyKind.READ_ONLY)).status == 200


def test_an_address_may_not_guess_keys_for_long(slow: Api) -> None:
    statuses = [slow.get(RUNS, key=f"elk_{number:012x}_guess").status for number in range(12)]
    assert statuses == [401] * 10 + [429] * 2


def test_a_bad_neighbour_locks_no_good_key_out(slow: Api) -> None:
    for number in range(12):
        slow.get(RUNS, key=f"elk_{number:012x}_guess")
    assert slow.get(RUNS, key=slow.key()).status == 200
    assert slow.get(RUNS, key="elk_guess_guess").status == 429


def test_what_a_stranger_may_not_change_counts_like_a_refused_key(slow: Api) -> None:
    for _ in range(11):
        assert slow.post("/v1/nothing").status == 404
    assert slow.get(RUNS, key="elk_guess_guess").status == 429


@pytest.mark.parametrize("path", ["start", "poll", "cancel"])
def test_a_body_that_is_none_counts_and_then_is_not_even_read(slow: Api, path: str) -> None:
    at = f"/v1/auth/cli/{path}"
    assert [slow.post(at, content=b"{").status for _ in range(11)] == [422] * 10 + [429]
    sent = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\nConnection: close\r\n\r\n"
    assert b" 429 " in slow.raw(sent % at.encode()).splitlines()[0]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("unknown", "unknown", True),
    ],
)
def test_a_64_of_ipv6_counts_as_one_address(one: str, other: str, same: bool) -> None:
    rates = Rates(10)
    for _ in range(10):
        rates.refused(one)
    if not same:
        rates.check(other)
        return
    with pytest.raises(RateLimited):
        rates.check(other)


def test_a_rate_counts_within_a_minute() -> None:
    rates = Rates(10)
    for _ in range(10):
        rates.count("key:a")
    with pytest.raises(RateLimited):
        rates.count("key:a")
    rates.count("key:b")


def test_what_is_seen_first_is_first_once() -> None:
    rates = Rates(10)
    assert [rates.first("x"), rates.first("x"), rates.first("y")] == [True, False, True]
