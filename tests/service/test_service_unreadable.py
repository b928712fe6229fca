"""Runs whose record makes no sense: told as unreadable, alone, to those who see them, and logged once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from approvals_world import ADMIN, STRANGER, place_on
from submitting import caller

from everloop.errors import RunNotFound, RunUnreadable
from everloop.service import history, run_control, run_messages, run_start, runs
from everloop.service.installation import Installation
from everloop.service.request import StartRequest
from everloop.store import phases, rounds, tables
from everloop.store.database import Database


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    made = place_on(database, tmp_path / "home")
    for run in ("good", "bad"):
        started(made, run)
    return made


def started(place: Installation, run: str) -> None:
    document = {"run": run, "brief": "x", "domain": "synthetic", "limits": {"model_usd_cap": 1}}
    run_start.start(place, StartRequest.from_json(document), ADMIN)


def protocol_lost(place: Installation) -> None:
    with place.database.write() as tx:
        tx.execute(sa.update(tables.runs).where(tables.runs.c.run == "bad").values(protocol={}))


def gate_unknown(place: Installation) -> None:
    with place.database.write() as tx:
        gate = {"gate": {"name": "of another release"}}
        tx.execute(sa.update(tables.runs).where(tables.runs.c.run == "bad").values(protocol=gate))


def not_json(place: Installation) -> None:
    """No JSON at all, which only SQLite takes."""
    raw = "{" if place.database.sqlite else "[]"
    with place.database.write() as tx:
        tx.exec_driver_sql(f"update runs set owner = '{raw}', protocol = '{raw}', limits = '{raw}' where run = 'bad'")


BREAKS: list[Callable[[Installation], None]] = [protocol_lost, gate_unknown, not_json]


@pytest.mark.parametrize("broken", BREAKS)
def test_its_document_says_so_and_nothing_else(place: Installation, broken: Callable[[Installation], None]) -> None:
    broken(place)
    found: Any = runs.document(place, "bad", caller=ADMIN)
    assert (found["run"], found["state"], found["error"]["code"]) == ("bad", "unreadable", "RUN_UNREADABLE")
    others = {name: value for name, value in found.items() if name not in {"run", "state", "error"}}
    assert set(others.values()) == {None}
    assert set(found) == set(runs.document(place, "good", caller=ADMIN))


@pytest.fixture
def malformed(place: Installation) -> Installation:
    not_json(place)
    return place


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_without_json_the_list_and_the_live_view_say_so_as_well(malformed: Installation) -> None:
    rows = {str(one["run"]): one for one in runs.pages(malformed, caller=ADMIN).items}
    assert (rows["good"]["state"], rows["bad"]["state"]) == ("starting", "unreadable")
    assert set(rows["bad"]) == {*rows["good"], "error"}
    live: Any = runs.live(malformed, "bad", 7, ADMIN)
    assert (live["state"], live["events"], live["next_cursor"], live["round"]) == ("unreadable", [], 7, None)
    assert set(live) == {*runs.live(malformed, "good", None, ADMIN), "error"}
    compact: Any = runs.document(malformed, "bad", compact=True, caller=ADMIN)
    assert compact["state"] == "unreadable"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_page_goes_on_after_a_row_that_cannot_be_read(malformed: Installation) -> None:
    first = runs.pages(malformed, limit=1, caller=ADMIN)
    rest = runs.pages(malformed, limit=1, cursor=first.next_cursor, caller=ADMIN)
    assert [one["run"] for one in (*first.items, *rest.items)] == ["bad", "good"]
    assert rest.next_cursor is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_who_does_not_see_it_learns_nothing_of_it(malformed: Installation) -> None:
    for look in (runs.document, runs.live, history.of):
        with pytest.raises(RunNotFound):
            look(malformed, "bad", caller=STRANGER)
    assert runs.pages(malformed, caller=caller("q")).items == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_nothing_can_be_done_with_it(malformed: Installation) -> None:
    for act in (
        lambda: run_messages.steer(malformed, "bad", "x", ADMIN),
        lambda: run_messages.add_directive(malformed, "bad", "x", ADMIN),
        lambda: run_control.stop(malformed, "bad", ADMIN),
        lambda: run_control.extend(malformed, "bad", 9, ADMIN),
        lambda: runs.round(malformed, "bad", 1, ADMIN),
        lambda: history.of(malformed, "bad", ADMIN),
    ):
        with pytest.raises(RunUnreadable, match="cannot be read"):
            act()


def test_a_round_and_a_history_that_make_no_sense_are_refused(place: Installation) -> None:
    with place.database.write() as tx:
        rounds.begin(tx, "bad", 1)
        phases.add(tx, "bad", 1, "open", "", {"spend": ["?"]})
        rounds.finish(
            tx, "bad", 1, decision="kept", summary="", version=None, plan="", spend={"model_usd": "?", "gpu_usd": 1}
        )
    with pytest.raises(RunUnreadable):
        history.of(place, "bad", ADMIN)
    assert runs.document(place, "bad", caller=ADMIN)["state"] == "starting"


def test_the_log_tells_the_reason_once(place: Installation, caplog: pytest.LogCaptureFixture) -> None:
    run = f"odd-{uuid4().hex}"  # each process logs it once, and another test may have had it
    started(place, run)
    with place.database.write() as tx:
        tx.execute(sa.update(tables.runs).values(protocol={}))
    for _ in range(3):
        runs.document(place, run, caller=ADMIN)
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert f"run {run}" in record.getMessage()
    assert record.exc_info is not None
