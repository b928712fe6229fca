"""The worker process: holds a lease, picks up runs, carries them on, takes over from dead peers."""

from __future__ import annotations

import logging
import os
import platform
import signal
import sys
import threading
import time
from types import FrameType

from everloop.errors import StaleWorker, StoreUnavailable
from everloop.events import Event, EventKind
from everloop.gateway.opening import Opening
from everloop.loop import durable
from everloop.loop.context import Means
from everloop.loop.journal import Observer, unobserved
from everloop.loop.lease import Lease
from everloop.loop.run import Loop
from everloop.loop.trainings import Trainings
from everloop.paths import Home
from everloop.settings import Settings
from everloop.store import events, runs
from everloop.store.database import Database
from everloop.students.measuring import Students

log = logging.getLogger("everloop.loop")

TICK_SECONDS = 0.1
"""Pause between two looks for new runs."""
REAP_TICKS = 10
"""Looks for dead peers happen every so many ticks."""
RESTARTS = 5
"""Times the engine may give a run up without it getting further before the run is paused."""


class Worker:
    """One incarnation of a worker."""

    def __init__(self, settings: Settings, observer: Observer = unobserved) -> None:
        home = Home(settings.home).create()
        self._database = Database(settings.url)
        self._database.migrate()
        self._lease = Lease(self._database, home, settings.worker_lease_seconds)
        self._students = Students(settings.evaluation_timeout_seconds)
        self._opening = Opening(settings, self._database)
        means = Means(settings, self._database, self._lease.epoch, self._students, self._opening, observer)
        self._lease.keep()
        durable.launch(self._database, self._lease.epoch, Loop(means))
        self._trainings = Trainings(means)
        self._dispatched: set[tuple[str, int]] = set()
        self._restarts: dict[str, tuple[int, int]] = {}
        self._stop = threading.Event()

    def serve(self, *, drain: bool) -> None:
        """Work until told to stop or, with `drain`, until no run is active and no submitted job waits or runs."""
        ticks = 0
        while not self._stop.wait(TICK_SECONDS):
            try:
                if ticks % REAP_TICKS == 0:
                    self._lease.reap()
                    durable.recover(self._lease.fenced)
                    self._mend()
                if not self._dispatch() + self._trainings.look() and drain:
                    break
            except StaleWorker:
                raise
            except Exception:
                log.warning("worker %s: a look for work failed", self._lease.epoch, exc_info=True)
                time.sleep(1)
            ticks += 1

    def stop(self, *_: int | FrameType | None) -> None:
        """Leave `serve` at the next tick; usable as a signal handler."""
        self._stop.set()

    def close(self) -> None:
        """Sign off; what was under way is carried on by another worker."""
        durable.shutdown()
        self._lease.release()
        self._opening.close()
        self._database.close()

    def _dispatch(self) -> int:
        """Enqueue every active run this worker has not seen yet; returns how many are active."""
        with self._database.read() as tx:
            active = runs.active(tx)
        for run, generation, _ in active:
            if (run, generation) not in self._dispatched:
                durable.dispatch(run, generation)
                self._dispatched.add((run, generation))
        return len(active)

    def _mend(self) -> None:
        """Give runs that the engine gave up (its own failure, not the run's) a new generation."""
        with self._database.read() as tx:
            active = runs.active(tx)
        for run, generation, seq in active:
            if durable.broken(run, generation):
                before, count = self._restarts.get(run, (seq, 0))
                count = 1 if seq > before + 1 else count + 1  # each restart tells one event; more is progress
                self._restarts[run] = (seq, count)
                self._renew(run, generation, last=count > RESTARTS)

    def _renew(self, run: str, generation: int, *, last: bool) -> None:
        error = StoreUnavailable(f"run {run} was given up {RESTARTS} times", then="See the worker's log, then resume")
        with self._database.write(worker=self._lease.epoch) as tx:
            if last:
                told = Event(EventKind.ERROR, f"run {run} paused: {error.message}", data={"state": "paused"})
                events.append(tx, run, told, state="paused", error=error.to_json())
            else:
                runs.renew(tx, run, generation)
        log.warning("run %s: the engine gave generation %s up; %s", run, generation, "paused" if last else "renewed")


def _know_the_platform() -> None:
    """Let `platform` ask now what it would ask later, and keeps: it starts ``uname`` with our environment.

    A model's SDK names the platform in its headers; keys may be in the environment, and no child is to have them.
    """
    before = dict(os.environ)
    os.environ.clear()
    os.environ["PATH"] = before.get("PATH", os.defpath)
    try:
        platform.platform()
    finally:
        os.environ.update(before)


def main(settings: Settings, *, drain: bool = False, observer: Observer = unobserved) -> None:
    """Run a worker until SIGTERM, SIGINT or, with `drain`, until no run is active; then end this process.

    It does not wait for the phase a run is in: whatever that does is done again by the next worker, as after SIGKILL.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # else a line for each request to a model
    _know_the_platform()
    worker = Worker(settings, observer)
    signal.signal(signal.SIGTERM, worker.stop)
    signal.signal(signal.SIGINT, worker.stop)
    worker.serve(drain=drain)
    worker.close()
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(Settings(), drain="--drain" in sys.argv[1:])
