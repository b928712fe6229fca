"""Bringing a database to this release with Alembic."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

_LOCK = 7_233_001
"""Key of PostgreSQL's advisory lock while migrating."""


def migrate(engine: sa.Engine) -> None:
    """Upgrade to the newest revision in one transaction; a second process waits, then finds nothing to do."""
    config = configuration()
    head = ScriptDirectory.from_config(config).get_current_head()
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if MigrationContext.configure(connection).get_current_revision() == head:
            return
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def configuration() -> Config:
    """Alembic's configuration; the scripts are part of the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
