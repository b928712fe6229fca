"""One served gateway for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Served, serving

from everloop.store.database import Database


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    database = Database(f"sqlite:///{home / 'everloop.db'}")
    database.migrate()
    with serving(database, home) as made:
        yield made
    database.close()


@pytest.fixture
def served(one_server: Served) -> Served:
    one_server.reset()
    return one_server


@pytest.fixture
def served_on_both(database: Database, tmp_path: Path) -> Iterator[Served]:
    with serving(database, tmp_path) as made:
        yield made
