"""Rate limits: so many requests a minute of one key or session, a tenth of that for strangers of one address."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from everloop.errors import RateLimited

STRANGERS = 10
"""A refused key or sign-in counts as so many requests."""


class Rates:
    """The counters of one server process; several processes each have their own."""

    def __init__(self, per_minute: int) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._known = RateLimitItemPerMinute(per_minute)
        self._stranger = RateLimitItemPerMinute(max(10, per_minute // STRANGERS))
        self._once = RateLimitItemPerMinute(1)

    def count(self, subject: str) -> None:
        """Count a request of a known caller; RateLimited beyond the limit, with the seconds to wait."""
        if not self._limiter.hit(self._known, "caller", subject):
            self._refuse(self._known, "caller", subject)

    def refused(self, address: str) -> None:
        """Count a refused key or sign-in of an address."""
        self._limiter.hit(self._stranger, "address", address)

    def check(self, address: str) -> None:
        """RateLimited for an address that had too many keys or sign-ins refused; looked at before any is compared."""
        if not self._limiter.test(self._stranger, "address", address):
            self._refuse(self._stranger, "address", address)

    def first(self, what: str) -> bool:
        """Whether `what` is seen for the first time within a minute."""
        return self._limiter.hit(self._once, "once", what)

    def _refuse(self, limit: RateLimitItemPerMinute, kind: str, who: str) -> None:
        resets = self._limiter.get_window_stats(limit, kind, who).reset_time
        wait = max(1, math.ceil(resets - time.time()))
        why = f"the limit is {limit.amount} a minute"
        raise RateLimited("too many requests", why=why, then=f"Wait {wait} seconds", retry_after=wait)
