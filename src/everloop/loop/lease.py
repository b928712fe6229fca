"""A worker's lease on its work: who is alive, who is fenced off.

Each incarnation of a worker is a row with a number of its own, its epoch. A worker shows that it lives by a heartbeat
and, on its host, by a lock on a file that the kernel drops when the process dies. A peer fences a worker whose lock is
free (dead: at once) or whose heartbeat is overdue (dead host, stopped or cut off). Whoever is fenced can write nothing
more: every write checks the epoch.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import threading
import time
from collections.abc import Collection
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from everloop.paths import Home
from everloop.store import workers
from everloop.store.database import Database

log = logging.getLogger("everloop.loop")

BEAT_SECONDS = 1.0
"""Pause between two heartbeats."""
FENCED_EXIT = 70
"""Exit status of a worker that found itself fenced off."""


class Lease:
    """The lease of this process; `epoch` is its worker number."""

    def __init__(self, database: Database, home: Home, seconds: float) -> None:
        self._database, self._home, self._seconds = database, home, seconds
        self._host = socket.gethostname()
        self._home.workers.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.epoch = database.retrying(self._register)
        self._held = os.open(self._lock_file(self.epoch), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._stop = threading.Event()

    def _register(self) -> int:
        with self._database.write() as tx:
            return workers.register(tx, self._host, os.getpid())

    def _lock_file(self, epoch: int) -> Path:
        return self._home.workers / f"{epoch}.lock"

    def keep(self) -> None:
        """Beat in the background until released; a fenced worker ends its process at once."""
        threading.Thread(target=self._beats, name="heartbeat", daemon=True).start()

    def _beats(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            try:
                with self._database.write() as tx:
                    alive = workers.heartbeat(tx, self.epoch)
            except Exception:
                log.warning("heartbeat of worker %s failed", self.epoch, exc_info=True)
                continue
            if not alive:
                log.error("worker %s was fenced off: a peer has its runs; it ends without writing", self.epoch)
                os._exit(FENCED_EXIT)

    def reap(self) -> None:
        """Fence dead peers."""
        with self._database.read() as tx:
            rows = workers.live(tx)
        dead = [row for row in rows if row.id != self.epoch and self._dead(row)]
        if dead:
            with self._database.write(worker=self.epoch) as tx:
                for row in dead:
                    if workers.fence(tx, row.id, row.heartbeat):
                        log.warning("worker %s on %s is gone; its runs are taken over", row.id, row.host)

    def fenced(self, epochs: Collection[int]) -> set[int]:
        """Those of some epochs that are fenced."""
        with self._database.read() as tx:
            return workers.fenced(tx, epochs)

    def _dead(self, row: workers.WorkerRow) -> bool:
        if time.time() - row.heartbeat > self._seconds:
            return True
        return row.host == self._host and self._lock_is_free(row.id, row.heartbeat)

    def _lock_is_free(self, epoch: int, heartbeat: float) -> bool:
        """Whether the process that held the lock is gone (a lock not yet taken after registering does not count)."""
        if time.time() - heartbeat < BEAT_SECONDS / 2:
            return False  # it may have registered and not locked yet
        try:
            probe = os.open(self._lock_file(epoch), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(probe)
        return True

    def release(self) -> None:
        """Stop beating and fence this worker itself, so that peers need not wait."""
        self._stop.set()
        try:
            with self._database.write() as tx:
                workers.fence(tx, self.epoch, None)
        except DBAPIError:
            log.warning("worker %s could not sign off; its lock tells peers", self.epoch)
        self._lock_file(self.epoch).unlink(missing_ok=True)
        os.close(self._held)
