"""Counts within a minute, on a clock of the test's own."""

from __future__ import annotations

import pytest

from everloop.api.windows import Windows


class Clock:
    now = 600.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_so_many_are_counted_and_no_more(clock: Clock) -> None:
    windows = Windows(clock)
    assert [windows.hit("a", 3) for _ in range(5)] == [True, True, True, False, False]
    assert windows.hit("b", 3)


def test_a_look_counts_nothing(clock: Clock) -> None:
    windows = Windows(clock)
    assert all(windows.room("a", 1) for _ in range(5))
    assert windows.hit("a", 1)
    assert not windows.room("a", 1)


@pytest.mark.parametrize(
    ("later", "counted"), [(60.0, 0), (90.0, 5), (105.0, 8), (119.0, 10), (120.0, 10), (600.0, 10)]
)
def test_the_last_minute_leaves_the_window_bit_by_bit(clock: Clock, later: float, counted: int) -> None:
    windows = Windows(clock)
    for _ in range(10):
        windows.hit("a", 10)
    clock.now += later
    assert sum(windows.hit("a", 10) for _ in range(20)) == counted


def test_what_is_not_used_is_forgotten(clock: Clock) -> None:
    windows = Windows(clock)
    for number in range(1000):
        windows.hit(str(number), 1)
    clock.now += 120
    windows.hit("a", 1)
    assert len(windows._now) + len(windows._before) == 1


def test_a_refused_caller_waits_no_longer_than_a_minute(clock: Clock) -> None:
    clock.now = 615.5
    assert Windows(clock).wait() == 44.5
