"""Work that is done whole whatever happens to its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from everloop.gateway.whole import whole


async def waiting(done: list[str], fails: bool = False) -> str:
    await asyncio.sleep(0.05)
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    if fails:
        raise LookupError("broken")
    done.append("work")
    return "result"


def run(work: Callable[[], Coroutine[object, None, object]]) -> object:
    return asyncio.run(work())


async def cancelled(work: Coroutine[object, None, object], times: int = 1) -> None:
    task = asyncio.ensure_future(work)
    for _ in range(times):
        await asyncio.sleep(0.01)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def test_work_that_waits_for_nothing_takes_no_turn_of_the_loop() -> None:
    async def at_once() -> int:
        return 3

    async def go() -> list[str]:
        order: list[str] = []
        asyncio.get_running_loop().call_soon(order.append, "turn")
        assert await whole(at_once()) == 3
        order.append("result")
        await asyncio.sleep(0)
        return order

    assert run(go) == ["result", "turn"]


def test_result_of_work_that_waits() -> None:
    assert run(lambda: whole(waiting([]))) == "result"


@pytest.mark.parametrize("wait", [True, False])
def test_error_of_the_work_is_the_callers(wait: bool) -> None:
    async def at_once() -> None:
        raise LookupError("broken")

    with pytest.raises(LookupError):
        run(lambda: whole(waiting([], fails=True) if wait else at_once()))


@pytest.mark.parametrize("times", [1, 3])
def test_cancelled_caller_leaves_the_work_done(times: int) -> None:
    done: list[str] = []
    run(lambda: cancelled(whole(waiting(done)), times))
    assert done == ["work"]


def test_result_that_nobody_claims_is_handed_on() -> None:
    done: list[str] = []

    async def unclaimed(result: str) -> None:
        await asyncio.sleep(0)
        done.append(result)

    run(lambda: cancelled(whole(waiting(done), unclaimed)))
    assert done == ["work", "result"]


def test_failed_work_of_a_cancelled_caller_has_no_result_to_hand_on() -> None:
    done: list[str] = []

    async def unclaimed(result: str) -> None:
        done.append(result)

    run(lambda: cancelled(whole(waiting(done, fails=True), unclaimed)))
    assert done == []
