"""Counts within the last minute: a sliding window made of two fixed ones.

The library `limits` counts so as well, but its memory starts a timer thread for a hit: 6 % of a poll. The estimate
is the usual one: this minute's count, and the part of the last one's that the window still covers (Cloudflare, "How we
built rate limiting capable of scaling to millions of domains", 2017).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

SECONDS = 60.0
"""Length of the window."""


class Windows:
    """Counters by name; what was not counted for two minutes is forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._minute = -1
        self._now: dict[str, int] = {}
        self._before: dict[str, int] = {}

    def hit(self, name: str, most: int) -> bool:
        """Count one more, unless `most` are counted; whether it was counted."""
        with self._lock:
            if self._used(name) >= most:
                return False
            self._now[name] = self._now.get(name, 0) + 1
            return True

    def room(self, name: str, most: int) -> bool:
        """Whether one more could be counted."""
        with self._lock:
            return self._used(name) < most

    def wait(self) -> float:
        """Seconds after which this minute's count begins to leave the window; what a refused caller is told."""
        return SECONDS - self._clock() % SECONDS

    def _used(self, name: str) -> float:
        minute, into = divmod(self._clock(), SECONDS)
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else {}
            self._now, self._minute = {}, int(minute)
        return self._now.get(name, 0) + self._before.get(name, 0) * (1 - into / SECONDS)
