"""The account in memory."""

from __future__ import annotations

import asyncio

import pytest

from everloop.errors import CapReached
from everloop.gateway.base import Answer, Call, Charge, Purpose
from everloop.gateway.memory_account import MemoryAccount

CALL = Call("k.1", "0" * 64, "m", Purpose.MODEL)


def test_attempt_is_reserved_then_settled() -> None:
    account = MemoryAccount(usd_cap=1.0)
    assert asyncio.run(account.begin(CALL, Charge(900))) is None
    assert (account.spent.micros, account.held.micros, account.requests) == (0, 900, 0)
    asyncio.run(account.end(CALL, Charge(300), "{}"))
    assert (account.spent.micros, account.held.micros, account.requests) == (300, 0, 1)
    assert asyncio.run(account.begin(CALL, Charge(900))) == Answer("{}", 300)


def test_attempt_left_open_is_charged_when_the_call_is_made_again() -> None:
    account = MemoryAccount()
    asyncio.run(account.begin(CALL, Charge(900)))
    asyncio.run(account.begin(CALL, Charge(900)))
    assert (account.spent.micros, account.held.micros) == (900, 900)


def test_cap_counts_what_is_held() -> None:
    account = MemoryAccount(usd_cap=0.001)
    asyncio.run(account.begin(CALL, Charge(600)))
    with pytest.raises(CapReached, match="usd_cap"):
        asyncio.run(account.begin(Call("k.2", "0" * 64, "m", Purpose.MODEL), Charge(600)))
    assert account.held.micros == 600


def test_cap_on_requests_counts_what_is_held() -> None:
    account = MemoryAccount(request_cap=1)
    asyncio.run(account.begin(CALL, Charge(1)))
    with pytest.raises(CapReached, match="request_cap"):
        asyncio.run(account.begin(Call("k.2", "0" * 64, "m", Purpose.MODEL), Charge(1)))


def test_ending_twice_counts_once() -> None:
    account = MemoryAccount()
    asyncio.run(account.begin(CALL, Charge(900)))
    asyncio.run(account.end(CALL, Charge(300), None))
    asyncio.run(account.end(CALL, Charge(300), None))
    assert account.spent.micros == 300
