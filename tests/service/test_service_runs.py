"""Uses of runs that the store alone shows: who may, and what a call that lost its answer has done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from approvals_world import ADMIN, place_on, recorded
from lost_answers import lose_answers

from everloop.errors import AccessDenied, Conflict
from everloop.events import Json
from everloop.service import run_control, run_messages, run_start, runs
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.service.request import StartRequest
from everloop.store import runs as stored
from everloop.store import tables
from everloop.store.database import Database

WORKER = replace(ADMIN, permissions=frozenset({Permission.READ, Permission.RUN, Permission.STOP}))
SIZES = {"diag_per_family": 4, "dev_n": 60, "admission_n": 16, "blind_n": 80, "collect_tasks": 60}
START: Json = {
    "run": "r",
    "brief": "Improve.",
    "domain": "synthetic",
    "rounds": 2,
    "limits": {"model_usd_cap": 1.0, **SIZES},
}
Use = Callable[[Installation, Caller], object]
RUNS: dict[str, Use] = {
    "start": lambda place, caller: run_start.start(place, StartRequest.from_json(START), caller),
    "start_document": lambda place, caller: run_start.start_document(place, START, caller),
    "steer": lambda place, caller: run_messages.steer(place, "r", "x", caller),
    "steer_document": lambda place, caller: run_messages.steer_document(place, "r", {"text": "x"}, caller),
    "add_directive": lambda place, caller: run_messages.add_directive(place, "r", "x", caller),
    "directive_document": lambda place, caller: run_messages.directive_document(place, "r", {"text": "x"}, caller),
    "resume": lambda place, caller: run_control.resume(place, "r", caller),
    "extend": lambda place, caller: run_control.extend(place, "r", 3, caller),
    "control": lambda place, caller: run_control.control(place, "r", "resume", None, caller),
    "control_document": lambda place, caller: run_control.control_document(place, "r", {"action": "resume"}, caller),
}
STOPS: dict[str, Use] = {
    "stop": lambda place, caller: run_control.stop(place, "r", caller),
    "control": lambda place, caller: run_control.control(place, "r", "stop", None, caller),
    "control_document": lambda place, caller: run_control.control_document(place, "r", {"action": "stop"}, caller),
}


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    return place_on(database, tmp_path / "home")


def halted(place: Installation, state: str) -> None:
    """A run of the store that has come to rest."""
    recorded(place)
    with place.database.write() as tx:
        stored.update(tx, "r", state=state)


def row(place: Installation) -> stored.RunRow:
    with place.database.read() as tx:
        return stored.require(tx, "r")


def told(place: Installation) -> list[str]:
    return [str(one["text"]) for one in runs.live(place, "r")["events"]]  # type: ignore[index,union-attr,call-overload]


def number(place: Installation, table: sa.Table) -> int:
    with place.database.read() as tx:
        return int(tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


@pytest.mark.parametrize("missing", [Permission.READ, Permission.RUN])
@pytest.mark.parametrize("use", RUNS.values(), ids=RUNS)
def test_who_starts_or_changes_a_run_reads_and_runs(tmp_path: Path, use: Use, missing: Permission) -> None:
    place = place_on(Database(f"sqlite:///{tmp_path}/x.db"), tmp_path)
    with pytest.raises(AccessDenied, match=str(missing)):
        use(place, replace(WORKER, permissions=WORKER.permissions - {missing}))


@pytest.mark.parametrize("missing", [Permission.READ, Permission.RUN, Permission.STOP])
@pytest.mark.parametrize("use", STOPS.values(), ids=STOPS)
def test_who_stops_a_run_reads_runs_and_stops(tmp_path: Path, use: Use, missing: Permission) -> None:
    place = place_on(Database(f"sqlite:///{tmp_path}/x.db"), tmp_path)
    with pytest.raises(AccessDenied, match=str(missing)):
        use(place, replace(WORKER, permissions=WORKER.permissions - {missing}))


def test_a_start_whose_answer_was_lost_has_started_the_run(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = place.settings.model_copy(update={"max_active_runs": 1})
    place = replace(place, settings=settings)
    lose_answers(place.database, monkeypatch)
    assert run_start.start_document(place, START, ADMIN)["run"] == "r"
    assert told(place) == ["run r requested by user:1"]


def test_a_second_start_of_the_same_id_stays_a_conflict(place: Installation) -> None:
    run_start.start_document(place, START, ADMIN)
    with pytest.raises(Conflict, match="exists"):
        run_start.start_document(place, START, ADMIN)


def test_a_steer_whose_answer_was_lost_is_queued_once(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(place)
    lose_answers(place.database, monkeypatch)
    queued = run_messages.steer(place, "r", "Begin with s3.", ADMIN)
    assert queued["status"] == "queued" and number(place, tables.steers) == 1
    assert told(place) == ["steer queued: Begin with s3."]
    run_messages.steer(place, "r", "Begin with s3.", ADMIN)
    assert number(place, tables.steers) == 2


def test_a_directive_whose_answer_was_lost_is_added_once(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(place)
    run_messages.add_directive(place, "r", "Short answers.", ADMIN)
    lose_answers(place.database, monkeypatch)
    assert run_messages.add_directive(place, "r", "Short answers.", ADMIN)["text"] == "Short answers."
    assert number(place, tables.directives) == 2 and len(told(place)) == 2


ENDS: dict[str, tuple[str, Callable[[Installation], Json], str]] = {
    "stop": ("paused", lambda place: run_control.stop(place, "r", ADMIN), "stopped"),
    "resume": ("paused", lambda place: run_control.resume(place, "r", ADMIN), "running"),
    "extend": ("finished", lambda place: run_control.extend(place, "r", 3, ADMIN), "running"),
}


@pytest.mark.parametrize(("state", "use", "then"), ENDS.values(), ids=ENDS)
def test_a_control_whose_answer_was_lost_has_acted_once(
    place: Installation, monkeypatch: pytest.MonkeyPatch, state: str, use: Callable[[Installation], Json], then: str
) -> None:
    monkeypatch.setattr(run_control.protocols, "check", lambda *_, **__: None)
    monkeypatch.setattr(run_control.EvaluationProtocol, "from_json", lambda _: None)
    monkeypatch.setattr(run_control, "find_domain", lambda _: None)
    halted(place, state)
    lose_answers(place.database, monkeypatch)
    assert use(place)["state"] == row(place).state == then
    assert row(place).generation == (2 if then == "running" else 1)
    once: list[Any] = told(place)
    assert len(once) == len(set(once))
    with pytest.raises(Conflict):
        (run_control.stop if then == "stopped" else run_control.resume)(place, "r", ADMIN)
