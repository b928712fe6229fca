"""The line to one model: what all callers in one event loop share."""

from __future__ import annotations

import time
from asyncio import Semaphore
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

    @property
    def price(self) -> Price:
        """The price now."""
        if time.monotonic() - self._priced > PRICE_SECONDS:
            self._price, self._priced = price_of(self.entry), time.monotonic()
        return self._price

    async def retire(self) -> None:
        """Close once the calls under way are done."""
        for _ in range(self.entry.concurrency):
            await self.slots.acquire()
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
