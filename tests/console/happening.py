"""A run goes on while somebody looks at its page: what a worker writes, and time that a test lets pass."""

from __future__ import annotations

import time
from typing import Any

from browsing import SECONDS, Visitor

from everloop.events import Event, EventKind
from everloop.service.installation import Installation
from everloop.store import events, runs

HERE = "/local/local"
RUNS = f"{HERE}/rsi/model-loops"
PAGES = ["overview", "rsi/model-loops", "rsi/data-loops", "experiment/jobs", "checkpoints", "approvals"]
"""Pages of a project that everybody in it may see."""
ADMINS = ["keys", "members"]
"""Pages of a project for its Admins."""
STEP = 0.25


def happen(place: Installation, run: str, *texts: str, **columns: Any) -> None:
    """So many new entries; `columns` of the run's row change with them."""
    with place.database.write() as tx:
        if columns:
            runs.update(tx, run, **columns)
        told = [Event(EventKind.MESSAGE, text, round=5, phase="certify", role="loop") for text in texts]
        if told:
            events.append(tx, run, *told)


class Watched:
    """A page whose time stands still unless a test lets it pass: timers do not go off by themselves."""

    def __init__(self, visitor: Visitor, path: str) -> None:
        self.visitor, self.path = visitor, path
        now = time.time()
        visitor.page.clock.install(time=now)
        visitor.page.clock.pause_at(now + 1)
        visitor.go(path)
        visitor.until("document.documentElement.dataset.script")
        self._before = len(visitor.requests)

    @property
    def asked(self) -> list[str]:
        """What the page asked for since it was loaded, without what it is made of."""
        return [one for one in self.visitor.requests[self._before :] if "/static/" not in one]

    def count(self, part: str) -> int:
        """How often an address with this part was asked for."""
        return sum(part in one for one in self.asked)

    def wait(self, seconds: float) -> None:
        """Let time pass on the page, but none while an answer is on its way."""
        for _ in range(round(seconds / STEP)):
            self.visitor.page.clock.run_for(round(STEP * 1000))
            self.settle()

    def settle(self) -> None:
        """Wait until nothing is on its way and what arrived is shown."""
        deadline = time.monotonic() + SECONDS
        while self.visitor.waiting:
            assert time.monotonic() < deadline, self.asked
            self.visitor.pause(0.005)
        self.visitor.ask("Promise.resolve()")

    def leap(self, seconds: float) -> None:
        """Let time pass at once: each timer goes off at most once."""
        self.visitor.page.clock.fast_forward(round(seconds * 1000))
        self.visitor.pause(0.05)

    def asks(self, n: int, part: str = "/live?") -> None:
        """Wait until it has asked so often since it was loaded, on a busy machine too; no more often than that."""
        deadline = time.monotonic() + SECONDS
        while self.count(part) < n:
            assert time.monotonic() < deadline, self.asked
            self.visitor.pause(0.01)
        assert self.count(part) == n, self.asked

    def polls(self, n: int = 1, part: str = "/live?") -> float:
        """Wait for so many further questions; the seconds that passed on the page."""
        passed, wanted, deadline = 0.0, self.count(part) + n, time.monotonic() + SECONDS
        while self.count(part) < wanted:
            assert time.monotonic() < deadline, (self.asked, passed)
            self.wait(STEP)
            passed += STEP
        return passed

    def shows(self, text: str) -> None:
        """Wait until the page says this."""
        self.visitor.page.get_by_text(text).first.wait_for()
