"""What each test would otherwise do again: the migrations of a new database, and hashes that cost as much as real ones.

A new SQLite file begins as a copy of one that the real migrations made; `migrate` then runs all the same and finds
nothing to do. Processes that a test starts are left alone: what they find not yet made, they make themselves.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher

from everloop.service import _passwords
from everloop.store import database

_CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)


@contextmanager
def new_files_are_copies(folder: Path) -> Iterator[None]:
    """Until it ends, a SQLite file that is to be migrated and is not there yet is a copy of a migrated one."""
    template = folder / "everloop.db"
    opened = database.Database(f"sqlite:///{template}")
    opened.migrate()
    opened.close()
    real = database.migrate

    def migrate(engine: sa.Engine) -> None:
        if engine.dialect.name == "sqlite" and engine.url.database not in {None, "", ":memory:"}:
            _copied(template, Path(str(engine.url.database)))
        real(engine)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database, "migrate", migrate)
        yield


def _copied(template: Path, target: Path) -> None:
    """Copy where nothing is, whole or not at all; where that cannot be, the real migration tells why."""
    if target.exists():
        return
    made = target.with_name(f"{target.name}.{os.getpid()}.template")
    try:
        shutil.copyfile(template, made)
        os.link(made, target)
    except OSError:
        return
    finally:
        made.unlink(missing_ok=True)


@contextmanager
def hashes_are_cheap() -> Iterator[None]:
    """Until it ends, passwords are hashed in less than a millisecond in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_passwords, "_hasher", _CHEAP)
        _passwords._nobody.cache_clear()
        yield
    _passwords._nobody.cache_clear()
