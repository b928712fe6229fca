"""Bringing a database to this release with Alembic."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 7_233_001
"""Key of PostgreSQL's advisory lock while migrating."""
_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(engine: sa.Engine) -> None:
    """Upgrade to the newest revision in one transaction; a second process waits, then finds nothing to do."""
    if _revision(engine) == newest():
        return  # as almost every process finds it: Alembic takes longer to import than most commands to run

    from alembic import command
    from alembic.runtime.migration import MigrationContext

    config = configuration()
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if MigrationContext.configure(connection).get_current_revision() == newest():
            return
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@cache
def newest() -> str:
    """The newest revision; the name of a script begins with its own, and they are counted up."""
    return max(script.name.partition("_")[0] for script in (_SCRIPTS / "versions").glob("[0-9]*.py"))


def _revision(engine: sa.Engine) -> str | None:
    """The revision that a database is at; None when it has none."""
    with engine.connect().execution_options(everloop_read=True) as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(sa.text("select version_num from alembic_version")).scalar()


def configuration() -> Config:
    """Alembic's configuration; the scripts are part of the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config
