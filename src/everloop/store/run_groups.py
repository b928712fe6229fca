"""In which group the console shows which run, and whose they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store.tables import runs


class Grouped(NamedTuple):
    """What a link to a run needs."""

    run: str
    group: str
    workspace_id: str | None
    project_id: str | None


def of(tx: Connection, names: Collection[str]) -> list[Grouped]:
    """Those of these runs that there are; one statement, however many."""
    if not names:
        return []
    query = sa.select(runs.c.run, runs.c.group, runs.c.workspace_id, runs.c.project_id)
    return [Grouped(*found) for found in tx.execute(query.where(runs.c.run.in_(list(names))))]
