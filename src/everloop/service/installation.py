"""An installation: settings, database and home folder, opened once by a server or a command."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.paths import Home
from everloop.settings import Settings
from everloop.store.database import Database


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


def open_installation(settings: Settings | None = None) -> Installation:
    """Make the home folder, migrate the database and return both. StoreUnavailable when it cannot be reached."""
    settings = settings or Settings()
    home = Home(settings.home).create()
    database = Database(settings.url)
    database.migrate()
    return Installation(settings, database, home)
