"""Fixtures every test may use: a home of its own, and databases of both kinds; and the order of the modules."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import prepared
import pytest
from postgres_server import PostgresServer

from everloop.store.database import Database

_numbers = itertools.count()

LONGEST_FIRST = (
    "test_conformance_vendor",
    "test_loop_torture",
    "test_loop_useless",
    "test_loop_limits",
    "test_cli_demo",
    "test_api_schemathesis",
    "test_conformance_vendor_more",
    "test_loop_paid_torture",
    "test_loop_agent",
    "test_loop_dry",
    "test_loop_local_model",
    "test_loop_trainings",
    "test_loop_approval",
    "test_loop_control",
    "test_api_matrix",
)
"""Modules that take the longest, so that no process is left alone with one of them at the end."""


def pytest_configure() -> None:
    """A job that a shell starts in the background ignores Ctrl-C, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(autouse=True, scope="session")
def migrated_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with prepared.new_files_are_copies(tmp_path_factory.mktemp("template")):
        yield


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """Tests of what passwords are kept as put another fixture of this name in its place."""
    with prepared.hashes_are_cheap():
        yield


@pytest.fixture(autouse=True)
def everloop_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    # `mktemp` would look through all the folders that thousands of tests have left there
    home = tmp_path_factory.getbasetemp() / f"home-of-test-{next(_numbers)}"
    home.mkdir(mode=0o700)
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
    """A new database: on SQLite a file that is not there yet, on PostgreSQL one that is migrated."""
    yield from _new(request, tmp_path, empty=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new database with nothing in it, for tests of what is made there first."""
    yield from _new(request, tmp_path, empty=True)


def _new(request: pytest.FixtureRequest, folder: Path, *, empty: bool) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{folder / 'everloop.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.empty() if empty else server.fresh()
    yield url
    server.drop(url)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    opened.migrate()
    yield opened
    opened.close()
