"""Small writes that may be left out: they wait for nobody, so that the answer they belong to is not held up."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from everloop.store.database import BUSY_MS, Database, transient

log = logging.getLogger(__name__)

WAIT_MS = 50
"""Milliseconds such a write waits for another writer."""


def briefly(database: Database, work: Callable[[Connection], None]) -> bool:
    """Do `work` in a transaction of its own, or leave it out when the database is busy, away or takes no writes.

    Whether it was done.
    """
    try:
        with database.engine.connect() as connection:
            if database.sqlite:
                _patience(connection, WAIT_MS)
            try:
                with connection.begin():
                    if not database.sqlite:
                        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {WAIT_MS}")
                    work(connection)
            finally:
                if database.sqlite:
                    _patience(connection, BUSY_MS)
    except DBAPIError as error:
        if not transient(error):
            log.warning("a time of use was not written: %s", str(error.orig).splitlines()[:1])
        return False
    return True


def _patience(connection: Connection, milliseconds: int) -> None:
    raw = connection.connection.dbapi_connection
    if raw is not None:
        raw.execute(f"PRAGMA busy_timeout={milliseconds}")
