"""Fixtures every test may use: a home of its own, and databases of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer

from everloop.store.database import Database


@pytest.fixture(autouse=True)
def everloop_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("EVERLOOP_HOME", str(home))
    monkeypatch.delenv("EVERLOOP_DATABASE_URL", raising=False)
    return home


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'everloop.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.fresh()
    yield url
    server.drop(url)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    opened.migrate()
    yield opened
    opened.close()
