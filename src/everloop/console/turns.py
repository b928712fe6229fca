"""Turns: pages that take long have threads of their own, few of them, and a short queue before those.

The API's requests share one pool of threads; a page that hashes passwords or waits for another server, asked for by
enough strangers, would hold all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from everloop.errors import RateLimited

AT_ONCE = 4
"""Pages of a kind that are worked on at once; a password's hash takes 64 MiB."""
WAITING = 12
"""Pages of a kind that may wait for their turn."""
EACH = 6
"""Pages of a kind that one address may have under way or waiting, so that it leaves room for others."""
RETRY = 5
"""Seconds after which who found no room may try again."""

T = TypeVar("T")


class Turns:
    """The threads of one kind of page and the queue before them; of one event loop."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(AT_ONCE)
        self._present: Counter[str] = Counter()

    async def run(self, address: str, work: Callable[[], T]) -> T:
        """What `work` returns, from a thread. RateLimited at once when the queue or the address's share is full."""
        if self._present.total() >= AT_ONCE + WAITING or self._present[address] >= EACH:
            then = f"Wait {RETRY} seconds"
            raise RateLimited("too many people sign in at this moment", then=then, retry_after=RETRY)
        self._present[address] += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._present[address] -= 1
            if not self._present[address]:
                del self._present[address]
