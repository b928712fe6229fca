"""Alembic's environment: works on the connection it is given."""

from __future__ import annotations

from alembic import context

from everloop.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
