"""Work that is done whole even when its caller is cancelled in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

UNDER_WAY: WeakSet[asyncio.Future[Any]] = WeakSet()
"""What must be done before its event loop may end; it is not to be cancelled."""


async def whole(
    work: Coroutine[object, None, T], unclaimed: Callable[[T], Coroutine[object, None, None]] | None = None
) -> T:
    """The result of `work`. A cancellation of the caller follows once it is done, after `unclaimed` had the result.

    The first step runs at once: work that waits for nothing, as an account in memory does, costs no task and no turn of
    the event loop, which matters when 64 callers share it. That step is the caller's own task, so `work` may wait for
    futures but not begin with a timeout or a task group.
    """
    try:
        first = work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    task = asyncio.ensure_future(_rest(first, work))
    UNDER_WAY.add(task)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if unclaimed is not None and not task.cancelled() and task.exception() is None:
            await whole(unclaimed(task.result()))
        raise


def _rest(first: object, work: Coroutine[object, None, T]) -> Awaitable[T]:
    """What is left of `work` after its first step, which waits for `first`."""

    @coroutine
    def steps() -> Generator[object, None, T]:
        yield first
        return (yield from work.__await__())

    return steps()
