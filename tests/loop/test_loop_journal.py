"""What happens to a run while a phase that ends it is being written: nothing of it is lost, nothing is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Connection

from everloop.errors import ApprovalNeeded, ModelUnavailable, RunNotActive
from everloop.loop import run as loop
from everloop.loop.context import Context
from everloop.loop.failure import Failure
from everloop.loop.journal import Journal
from everloop.paths import Home
from everloop.service import run_control, run_messages
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store import approvals, steers, workers
from everloop.store import runs as stored
from everloop.store.database import Database
from everloop.store.runs import NewRun

Observer = Callable[[str, str], None]


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    names: dict[str, Any] = dict.fromkeys(("kind", "group", "level", "domain", "brief", "machine"), "x")
    empty: dict[str, Any] = {name: {} for name in ("owner", "limits", "stop", "options", "protocol")}
    fixed: dict[str, Any] = {"mode": "live", "seed": 1, "rounds_target": 3, "goal": None, "protocol_sha256": "0"}
    with database.write() as tx:
        stored.create(tx, NewRun(**names, **empty, **fixed, run="r", worst_case_usd=None))
        stored.update(tx, "r", state="running")
    return Installation(Settings(database_url=database.url), database, Home(tmp_path / "home").create())


def journal(place: Installation, observer: Observer = lambda phase, edge: None) -> Journal:
    with place.database.write() as tx:
        worker = workers.register(tx, "here", 1)
    return Journal(place.database, worker, "r", observer)


def row(place: Installation) -> stored.RunRow:
    with place.database.read() as tx:
        return stored.require(tx, "r")


def test_a_steer_that_comes_while_a_run_ends_is_not_left_waiting(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop, taken = steers.drop, list[int]()

    def steer() -> None:
        try:
            taken.append(cast(int, run_messages.steer(place, "r", "Begin with s3.")["id"]))
        except RunNotActive:
            return

    steering = threading.Thread(target=steer)

    def slow(tx: Connection, run: str) -> None:
        drop(tx, run)
        steering.start()
        time.sleep(0.5)

    monkeypatch.setattr(steers, "drop", slow)
    journal(place).phase(0, "end", lambda now: loop._close(now, 1, "finished: the target is reached"), candidate="g1")
    steering.join()
    with place.database.read() as tx:
        assert row(place).state == "finished" and taken == [] and steers.queued(tx, "r") == []


def left(place: Installation, failure: Failure, meanwhile: Callable[[], object]) -> dict[str, Any]:
    """A generation that failed and is paused; something happens after that was decided and before it is written."""
    happened: list[bool] = []

    def observer(phase: str, edge: str) -> None:
        if edge == "worked" and not happened:
            happened.append(True)
            meanwhile()

    kept = journal(place, observer)
    context = cast(
        Context,
        SimpleNamespace(
            row=row(place),
            means=SimpleNamespace(database=place.database, worker=kept.worker),
            launcher=None,
            journal=kept,
        ),
    )
    loop._leave(context, failure, "paused")
    return cast(dict[str, Any], kept.done(0, "left", "g1"))


FAILURES = {
    "a model is away": Failure(ModelUnavailable.code, "no answer"),
    "a person is waited for": Failure(ApprovalNeeded.code, "it waits"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_stop_that_comes_while_a_run_is_paused_stops_it(place: Installation, failure: Failure) -> None:
    with place.database.write() as tx:
        approvals.put(tx, "r", "certification", "r1c1", occasion="certification-r1c1", document={})
    told = left(place, failure, lambda: run_control.stop(place, "r"))
    now = row(place)
    assert (told, now.state, now.stop_requested) == ({"state": "stopped"}, "stopped", False)
    assert now.ended_at is not None and now.generation == 1


def test_a_stop_before_a_decision_that_was_waited_for_is_not_forgotten(place: Installation) -> None:
    told = left(place, FAILURES["a person is waited for"], lambda: run_control.stop(place, "r"))
    assert (told, row(place).state, row(place).generation) == ({"state": "stopped"}, "stopped", 1)


def test_without_a_stop_it_is_paused(place: Installation) -> None:
    told = left(place, FAILURES["a model is away"], lambda: None)
    assert (told, row(place).state) == ({"state": "paused"}, "paused")
