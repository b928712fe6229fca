"""The processes that `el up` keeps: one server, and workers that are started again when they die."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from everloop.child import PATIENCE, Child, start
from everloop.errors import JobFailed
from everloop.paths import Home
from everloop.service.worker import keep
from everloop.settings import Settings

LOOK_SECONDS = 0.1
"""Pause between two looks at the children."""
START_SECONDS = 120.0
"""Seconds in which the server must answer requests."""
PAUSE_SECONDS = (1.0, 30.0)
"""First and longest pause before a dead worker is started again; it doubles each time."""
STEADY_SECONDS = 60.0
"""A worker that lived so long begins with the first pause again."""

Told = Callable[[str], None]


class Ending:
    """Whether a signal asked this process to end; a flag without a lock, since a handler may run at any instant."""

    asked = False
    """True from the first signal on."""

    def __call__(self, *_: object) -> None:
        """Be the handler of a signal."""
        self.asked = True


@contextmanager
def ending() -> Iterator[Ending]:
    """While the block lasts, SIGTERM, SIGINT and SIGHUP ask instead of killing."""
    found = Ending()
    before = {one: signal.signal(one, found) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield found
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@dataclass(slots=True)
class _Place:
    """Where one worker works, and the next one after it."""

    child: Child | None = None
    since: float = 0.0
    pause: float = PAUSE_SECONDS[0]
    due: float = 0.0


@dataclass(slots=True)
class Children:
    """A server and workers; use it as a context manager: they end with the block."""

    settings: Settings
    """With the port that was taken."""
    home: Home
    """Where their logs go: ``server.log`` and ``worker.log``."""
    ending: Ending
    """Watched while waiting."""
    told: Told
    """Gets a sentence when a worker died."""
    server: Child | None = None
    """The server, once `serve` was called."""
    workers: list[_Place] = field(default_factory=list)
    """The places of workers."""

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        """End all of them: ask every one first, then wait."""
        kept = [one for one in (self.server, *(place.child for place in self.workers)) if one is not None]
        for one in kept:
            one.ask()
        deadline = time.monotonic() + PATIENCE
        for one in kept:
            one.end(max(0.1, deadline - time.monotonic()))

    def serve(self, listener: socket.socket) -> None:
        """Start the server on a listening socket, which is its alone from now on, and wait until it answers.

        JobFailed when it ends before.
        """
        ready, told = os.pipe()
        try:
            self.server = start(
                "everloop.server",
                [str(listener.fileno()), str(told)],
                log=self.home.root / "server.log",
                environment=_environment(self.settings),
                descriptors=(listener.fileno(), told),
            )
            listener.close()
        finally:
            os.close(told)
        try:
            self._await(ready)
        finally:
            os.close(ready)

    def work(self, count: int) -> None:
        """Start workers."""
        for _ in range(count):
            self.workers.append(_Place())
        self._tend()

    def watch(self) -> None:
        """Keep the workers going until a signal asks to end. JobFailed when the server ends."""
        while not self.ending.asked:
            self._alive()
            self._tend()
            time.sleep(LOOK_SECONDS)

    def _await(self, ready: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.ending.asked:
            if select.select([ready], [], [], LOOK_SECONDS)[0]:
                if os.read(ready, 64):
                    return
                time.sleep(LOOK_SECONDS)  # it closed the pipe without a word: it is about to end
            self._alive()
            if time.monotonic() > deadline:
                raise JobFailed("the server does not answer", why=f"after {START_SECONDS:g} seconds", then=self._log())

    def _alive(self) -> None:
        assert self.server is not None
        status = self.server.poll()
        if status is not None and not self.ending.asked:
            raise JobFailed("the server ended", why=_how(status), then=self._log())

    def _tend(self) -> None:
        now = time.monotonic()
        for place in self.workers:
            status = None if place.child is None else place.child.poll()
            if place.child is not None and status is not None:
                self._bury(place, place.child, status, now)
            if place.child is None and now >= place.due:
                place.child, place.since = keep(self.settings, self.home), now

    def _bury(self, place: _Place, child: Child, status: int, now: float) -> None:
        child.end(0)
        first, longest = PAUSE_SECONDS
        pause = first if now - place.since > STEADY_SECONDS else place.pause
        place.child, place.due, place.pause = None, now + pause, min(longest, 2 * pause)
        self.told(f"worker {child.pid} ended ({_how(status)}); another one starts in {pause:g} s; see worker.log")

    def _log(self) -> str:
        return f"See {self.home.root / 'server.log'}"


def _environment(settings: Settings) -> dict[str, str]:
    """What the server reads its settings from, beside our own environment."""
    return {
        "EVERLOOP_HOME": str(settings.home),
        "EVERLOOP_DATABASE_URL": settings.database_url,
        "EVERLOOP_HOST": settings.host,
        "EVERLOOP_PORT": str(settings.port),
    }


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
