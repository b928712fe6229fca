"""A database that loses the answer to a COMMIT: what was written stays, and its writer hears of a broken connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from everloop.store.database import Database


def lose_answers(database: Database, patch: pytest.MonkeyPatch, times: int = 1) -> None:
    """Lose the answers to the next so many writing transactions."""
    write, left = database.write, [times]

    @contextmanager
    def losing(**options: Any) -> Iterator[Connection]:
        with write(**options) as tx:
            yield tx
        left[0] -= 1
        if left[0] >= 0:
            raise OperationalError("COMMIT", None, Exception("server closed the connection unexpectedly"))

    patch.setattr(database, "write", losing)
