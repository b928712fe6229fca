"""The circuit breaker: opens, lets one probe through, and never stays shut because of how a probe ended."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from lines import QUICK, Rig, answer, faults, rig
from scripted import Reply

from everloop.errors import CapReached, ModelRefused, ModelUnavailable
from everloop.gateway.memory_account import MemoryAccount

ONCE = replace(QUICK, deadline_seconds=5, retries=0, breaker_failures=3, breaker_seconds=0.2)
IMPATIENT = replace(ONCE, deadline_seconds=QUICK.deadline_seconds)
OPEN = "circuit is open"


def broken(it: Rig, times: int = 3) -> None:
    for n in range(times):
        with pytest.raises(ModelUnavailable, match="HTTP 500"):
            it.ask(key=f"broken{n}{time.monotonic()}")


def test_opens_after_failures_in_a_row() -> None:
    with rig(faults("500"), limits=ONCE) as it:
        broken(it)
        with pytest.raises(ModelUnavailable, match=OPEN):
            it.ask()
        assert len(it.server.requests) == 3
        assert it.money == (0, 0, 3)


def test_success_in_between_starts_the_count_again() -> None:
    with rig(faults("500", "500", Reply(), "500", "500", Reply()), limits=ONCE) as it:
        broken(it, 2)
        it.ask(key="a")
        broken(it, 2)
        assert it.ask(key="b") == "ok"


def test_too_many_requests_do_not_open_it() -> None:
    with rig(faults("429"), limits=ONCE) as it:
        for n in range(5):
            with pytest.raises(ModelUnavailable, match="HTTP 429"):
                it.ask(key=f"{n}")


def test_broken_connections_open_it() -> None:
    with rig(faults("reset"), limits=ONCE) as it:
        for n in range(3):
            with pytest.raises(ModelUnavailable, match="broke"):
                it.ask(key=f"{n}")
        with pytest.raises(ModelUnavailable, match=OPEN):
            it.ask()


def test_one_probe_goes_through_and_closes_it() -> None:
    with rig(faults("500", "500", "500", Reply(delay=0.1)), limits=ONCE) as it:
        broken(it)
        time.sleep(0.25)

        async def go() -> list[object]:
            asking = (answer(it.model(f"{n}"), "hi") for n in range(4))
            return await asyncio.gather(*asking, return_exceptions=True)

        said = it.gateway.run(go)
        assert said.count("ok") == 1
        assert sum(isinstance(one, ModelUnavailable) for one in said) == 3
        assert it.ask(key="after") == "ok"


def test_failed_probe_opens_it_again() -> None:
    with rig(faults("500"), limits=ONCE) as it:
        broken(it)
        time.sleep(0.25)
        broken(it, 1)
        with pytest.raises(ModelUnavailable, match=OPEN):
            it.ask()


@pytest.mark.parametrize(("status", "error"), [("429", ModelUnavailable), ("400", ModelRefused)])
def test_probe_that_is_turned_down_leaves_room_for_the_next(status: str, error: type[Exception]) -> None:
    with rig(faults("500", "500", "500", status, Reply()), limits=ONCE) as it:
        broken(it)
        time.sleep(0.25)
        with pytest.raises(error, match=f"HTTP {status}"):
            it.ask(key="probe")
        assert it.ask(key="next") == "ok"


def test_probe_that_is_cancelled_leaves_room_for_the_next() -> None:
    with rig(faults("500", "500", "500", "hang", Reply()), limits=ONCE) as it:
        broken(it)
        time.sleep(0.25)

        async def go() -> None:
            task = asyncio.ensure_future(answer(it.model("probe"), "hi"))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.wait([task])

        it.gateway.run(go)
        assert it.ask(key="next") == "ok"


def test_probe_that_meets_a_cap_leaves_room_for_the_next() -> None:
    with rig(faults("500", "500", "500", Reply()), limits=ONCE) as it:
        broken(it)
        time.sleep(0.25)
        with pytest.raises(CapReached):
            it.gateway.run(lambda: answer(it.model("probe", MemoryAccount(usd_cap=0)), "hi"))
        assert it.ask(key="next") == "ok"


def test_journalled_probe_leaves_room_for_the_next() -> None:
    with rig(faults(Reply("first"), "500", "500", "500", Reply("new")), limits=ONCE) as it:
        it.ask(key="known")
        broken(it)
        time.sleep(0.25)
        assert it.ask(key="known") == "first"
        assert it.ask(key="next") == "new"
