"""An installation: settings, database and home folder, opened once by a server or a command."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.paths import Home
from everloop.settings import Settings
from everloop.store.database import PATIENCE, Database


@dataclass(frozen=True, slots=True)
class Installation:
    """What every use case works on."""

    settings: Settings
    """The settings in force."""
    database: Database
    """The migrated store."""
    home: Home
    """The installation's folder."""

    def close(self) -> None:
        """Give the database's connections back."""
        self.database.close()


SERVING = 5.0
"""Seconds a server waits for its store before it says that it is unavailable."""


def open_installation(settings: Settings | None = None, *, patience: float = PATIENCE) -> Installation:
    """Make the home folder, migrate the database and return both. StoreUnavailable when it cannot be reached.

    `patience`: seconds to wait for a store that is locked or away; `SERVING` for a server.
    """
    settings = settings or Settings()
    home = Home(settings.home).create()
    database = Database(settings.url, patience=patience)
    database.migrate()
    return Installation(settings, database, home)
