"""The line to one model: what all callers in one event loop share."""

from __future__ import annotations

import asyncio
import time
from asyncio import Semaphore
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiolimiter import AsyncLimiter

from everloop.gateway.base import ModelEntry
from everloop.gateway.breaker import Breaker
from everloop.gateway.limits import GatewayLimits
from everloop.gateway.prices import Price, price_of
from everloop.gateway.provider import base_url, build, key_of
from everloop.gateway.transport import open_client

if TYPE_CHECKING:
    from pydantic_ai.models import Model

SPARE_CONNECTIONS = 8
PRICE_SECONDS = 60.0
"""How long a looked-up price holds: some list prices depend on the date or the hour."""


class Line:
    """HTTP client, concurrency, rate, circuit breaker and price of one model."""

    def __init__(self, entry: ModelEntry, secret: str | None, limits: GatewayLimits) -> None:
        self.entry, self.limits = entry, limits
        self._price, self._priced = price_of(entry), time.monotonic()
        self.key = key_of(entry, secret)
        self._client = open_client(base_url(entry), limits.deadline_seconds, entry.concurrency + SPARE_CONNECTIONS)
        self.model: Model = build(entry, self.key, self._client)
        self.slots = Semaphore(entry.concurrency)
        self.rate = _limiter(entry.requests_per_minute)
        self.breaker = Breaker(entry.name, limits)
        self.stale = False
        """Whether its key was refused: the next call reads the key anew."""
        self._users = 0
        self._unused: asyncio.Event | None = None

    @property
    def price(self) -> Price:
        """The price now."""
        if time.monotonic() - self._priced > PRICE_SECONDS:
            self._price, self._priced = price_of(self.entry), time.monotonic()
        return self._price

    def take_over(self, before: Line) -> None:
        """Go on with the pace and the circuit of a line to the same entry, whose key alone is read anew."""
        self.slots, self.rate, self.breaker = before.slots, before.rate, before.breaker

    @contextmanager
    def used(self) -> Iterator[None]:
        """For as long as a call is under way, waiting between two attempts included."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._unused is not None and not self._users:
                self._unused.set()

    async def retire(self) -> None:
        """Close once the calls under way are done. It takes no slot: a call that waits for one must get it."""
        self._unused = asyncio.Event()
        if self._users:
            await self._unused.wait()
        await self.close()

    async def close(self) -> None:
        """Close the client."""
        await self._client.aclose()


def _limiter(per_minute: int | None) -> AsyncLimiter | None:
    """A second's worth at once, so that a minute never sees twice its rate; slow rates go one by one."""
    if per_minute is None:
        return None
    burst = max(1.0, per_minute / 60)
    return AsyncLimiter(burst, burst * 60 / per_minute)
