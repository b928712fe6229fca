"""The database: one engine for our tables and the durable engine's, transactions with their durability, retries."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from everloop.errors import StoreUnavailable
from everloop.store import workers
from everloop.store.migrating import migrate

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds a transaction is tried again before the store counts as unavailable."""
IDLE_MS = 3_000
"""Milliseconds a PostgreSQL session may idle inside a transaction: a worker that was stopped there must not hold its
locks against the peer that takes over. Our transactions do no work of their own between statements."""
BUSY_MS = 30_000
"""Milliseconds a SQLite connection waits for another writer."""


class Database:
    """Connections to one database; safe to share between threads."""

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        """`patience`: seconds until a store that is locked or away counts as unavailable.

        A worker waits a minute rather than pause a run. A server that waited so long would have all its threads wait,
        and be away itself: nobody's request may hold one for longer than a client listens.
        """
        self.url, self.patience = url, patience
        self.sqlite = url.startswith("sqlite")
        self.engine = _sqlite(url, patience) if self.sqlite else _postgresql(url, patience)

    def migrate(self) -> None:
        """Bring the schema to this release; idempotent, and safe when two processes do it at once."""
        self.retrying(lambda: migrate(self.engine))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads; on SQLite it blocks nobody."""
        with self.engine.connect().execution_options(everloop_read=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False, worker: int | None = None) -> Iterator[Connection]:
        """One writing transaction; StaleWorker when `worker` is fenced off.

        `durable`: it survives a power cut (SQLite synchronous FULL instead of NORMAL; PostgreSQL always does).
        """
        with self.engine.connect() as connection:
            if self.sqlite:
                _synchronous(connection, "FULL" if durable else "NORMAL")
            with connection.begin():
                if worker is not None:
                    workers.check(connection, worker)
                yield connection

    def retrying(self, transaction: Callable[[], T]) -> T:
        """Run a whole transaction, again and again while the database is locked or away, as long as patience lasts."""
        deadline, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                return transaction()
            except DBAPIError as error:
                if not transient(error):
                    raise
                if time.monotonic() + pause > deadline:
                    raise unavailable(self, error) from error
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311 - spreads retries, hides nothing
            pause = min(2.0, pause * 2)

    def close(self) -> None:
        """Give every connection back."""
        self.engine.dispose()


def transient(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed a moment later."""
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    text = str(error.orig).lower()
    if "authentication failed" in text or "does not exist" in text:
        return False  # no waiting helps against a wrong password or name
    states = {
        "40001",
        "40P01",
        "55P03",
        "57014",
        "57P01",
        "57P02",
        "57P03",
        "53300",
        "08000",
        "08003",
        "08006",
        "08001",
    }
    if getattr(error.orig, "sqlstate", None) in states:
        return True
    words = (  # "disk is full" too: an owner may free some room within the minute
        "locked",
        "busy",
        "disk is full",
        "disk i/o",
        "connection",
        "server closed",
        "starting up",
        "shutting down",
        "terminating",
    )
    return isinstance(error, OperationalError) and any(word in text for word in words)


def unavailable(database: Database, error: Exception) -> StoreUnavailable:
    """The error for a database that does not answer; names it without its password."""
    name = sa.make_url(database.url).set(query={}).render_as_string(hide_password=True)
    cause = str(getattr(error, "orig", error)).splitlines()[0]
    return StoreUnavailable(f"the database {name} cannot be used", why=cause, then="See `el doctor`, then try again")


def _postgresql(url: str, patience: float) -> sa.Engine:
    parsed = sa.make_url(url)
    if parsed.drivername in {"postgresql", "postgres"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    settings = {"idle_in_transaction_session_timeout": IDLE_MS}
    if patience < PATIENCE:
        settings |= {"lock_timeout": int(patience * 1000), "statement_timeout": int(2 * patience * 1000)}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    arguments = {"options": options, "connect_timeout": max(2, int(patience))}
    # at least as many as a server has threads: one that waits for a connection would only wait for the others
    pool: dict[str, Any] = {"pool_size": 10, "max_overflow": 50, "pool_pre_ping": True}
    return sa.create_engine(parsed, hide_parameters=True, connect_args=arguments, **pool)


def _sqlite(url: str, patience: float) -> sa.Engine:
    path = sa.make_url(url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    wait = min(BUSY_MS, int(patience * 1000))
    # values stay out of errors, and so out of logs: among them are e-mail addresses, briefs and hashes
    engine = sa.create_engine(
        url, pool_size=20, max_overflow=40, hide_parameters=True, connect_args={"timeout": wait / 1000}
    )
    event.listen(engine, "connect", lambda raw, record: _on_connect(raw, record, wait))
    event.listen(engine, "begin", _on_begin)
    event.listen(engine, "before_cursor_execute", _once, retval=True)
    return engine


def _on_connect(raw: Any, _: object, wait_ms: int) -> None:
    raw.isolation_level = None  # we say BEGIN ourselves; the driver's implicit one lets a budget be read unlocked
    for pragma in (f"busy_timeout={wait_ms}", "foreign_keys=ON", "journal_mode=WAL", "synchronous=NORMAL"):
        raw.execute(f"PRAGMA {pragma}")
    _level.set(raw, "NORMAL")


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("everloop_read")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _once(connection: Connection, _: object, statement: str, parameters: Any, *__: object) -> tuple[str, Any]:
    """The durable engine's migrations say BEGIN IMMEDIATE themselves; inside our transaction that would fail."""
    raw = connection.connection.dbapi_connection
    if statement.strip() == "BEGIN IMMEDIATE" and raw is not None and raw.in_transaction:
        return "SELECT 1", parameters
    return statement, parameters


class _Levels:
    """The synchronous level of each open SQLite connection, so that it is set only when it changes."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._lock = threading.Lock()

    def set(self, raw: object, level: str) -> bool:
        """Remember a level; True when it was another one before."""
        with self._lock:
            changed = self._known.get(id(raw)) != level
            self._known[id(raw)] = level
        return changed


_level = _Levels()


def _synchronous(connection: Connection, level: str) -> None:
    raw = connection.connection.dbapi_connection
    if raw is not None and _level.set(raw, level):
        raw.execute(f"PRAGMA synchronous={level}")
