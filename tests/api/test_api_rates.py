"""Rate limits: of a key, and of an address whose keys are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import Api

from everloop.api.rates import Rates
from everloop.errors import RateLimited
from everloop.service.permissions import KeyKind

RUNS = "/v1/agent-runs/rsi/runs"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Api]:
    with Api(tmp_path / "api", api_requests_per_minute=100) as server:
        yield server


def test_a_key_has_so_many_requests_a_minute(slow: Api) -> None:
    statuses = [slow.get(RUNS, key=slow.key()).status for _ in range(101)]
    assert statuses == [200] * 100 + [429]
    refused = slow.get(RUNS, key=slow.key())
    assert refused.code == "RATE_LIMITED"
    assert 1 <= int(refused.headers["retry-after"]) <= 120


def test_another_key_has_its_own(slow: Api) -> None:
    for _ in range(101):
        slow.get(RUNS, key=slow.key())
    assert slow.get(RUNS, key=slow.key(KeyKind.READ_ONLY)).status == 200


def test_an_address_may_not_guess_keys_for_long(slow: Api) -> None:
    statuses = [slow.get(RUNS, key=f"elk_{number:012x}_guess").status for number in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    assert slow.get(RUNS, key=slow.key()).status == 429  # the address as a whole has to wait, whatever it sends now


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
