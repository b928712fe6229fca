"""A server of an installation of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import Api
from carrying import Carried, carried_out


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with Api(tmp_path / "api") as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One server for all tests of a module, for those that change nothing in it."""
    with Api(tmp_path_factory.mktemp("shared")) as server:
        yield server


@pytest.fixture(scope="session")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Carried]:
    """One server for the whole session, with what a worker has carried out; for tests that only look."""
    with carried_out(tmp_path_factory.mktemp("carried")) as found:
        yield found
