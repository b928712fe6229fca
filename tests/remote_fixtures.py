"""Fixtures of tests of client and command line: servers, and a place of its own for what is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remote_server import Answer, Asked, RealServer, StandIn

__all__ = ["config_folder", "own_server", "server", "stand_in"]

NAMES = ("BASE_URL", "API_KEY", "WORKSPACE_ID", "PROJECT_ID")


@pytest.fixture(autouse=True)
def config_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    for prefix in ("EVERLOOP", "ENVLOOP"):
        for name in NAMES:
            monkeypatch.delenv(f"{prefix}_{name}", raising=False)
    folder = tmp_path_factory.mktemp("config") / "everloop"
    monkeypatch.setenv("EVERLOOP_CONFIG", str(folder))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    made = RealServer(tmp_path_factory.mktemp("served"))
    made.start()
    yield made
    made.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RealServer]:
    made = RealServer(tmp_path / "served")
    made.start()
    yield made
    made.close()


@pytest.fixture
def stand_in() -> Iterator[Callable[[Callable[[Asked], Answer]], StandIn]]:
    made: list[StandIn] = []

    def make(answer: Callable[[Asked], Answer]) -> StandIn:
        made.append(StandIn(answer))
        return made[-1]

    yield make
    for one in made:
        one.close()
