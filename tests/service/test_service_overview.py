"""The first look at a project, on both databases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from approvals_world import ADMIN, STRANGER, place_on, recorded, waiting
from submitting import put

from everloop.errors import AccessDenied
from everloop.events import Json
from everloop.ledger import caps, reservations
from everloop.service import overview
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.service.overview import Rows
from everloop.store import runs, tables, workers
from everloop.store.database import Database


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    return place_on(database, tmp_path / "home")


def stand(place: Installation, run: str, state: str, project: str = "local", error: Json | None = None) -> None:
    recorded(place, run, project)
    with place.database.write() as tx:
        runs.update(tx, run, state=state, error=error)


def names(rows: Rows) -> list[str]:
    return [str(one["run"]) for one in rows.items]


def test_runs_are_sorted_by_what_they_need(place: Installation) -> None:
    for state in ("starting", "running", "paused", "failed", "stopped", "finished"):
        stand(place, state, state)
    found = overview.of(place, ADMIN)
    assert (names(found.active), names(found.paused), names(found.failed)) == (
        ["running", "starting"],
        ["paused"],
        ["failed"],
    )


def test_a_run_says_why_it_waits_and_what_it_has_spent_of_what_it_may(place: Installation) -> None:
    stand(place, "r", "paused", error={"code": "CAP_REACHED", "message": "usd_cap is used up"})
    with place.database.write() as tx:
        tx.execute(sa.update(tables.runs).values(limits={"model_usd_cap": 5, "usd_cap": 8}))
        caps.open_caps(tx, "r", {"model_usd_cap": 5, "usd_cap": 8})
        reservations.reserve(tx, "r", "a", model_micros=250_000)
        reservations.settle(tx, "r", "a", model_micros=250_000)
    row = overview.of(place, ADMIN).paused.items[0]
    assert row["error"] == {"code": "CAP_REACHED", "message": "usd_cap is used up"}
    assert row["limits"] == {"model_usd_cap": 5, "usd_cap": 8}
    assert isinstance(row["spend"], dict) and row["spend"]["model_usd"] == 0.25


def test_another_project_sees_none_of_it(place: Installation) -> None:
    waiting(place)
    stand(place, "theirs", "running", project="other")
    mine, theirs = overview.of(place, ADMIN), overview.of(place, STRANGER)
    assert (names(mine.active), names(mine.paused), len(mine.approvals.items)) == ([], ["r"], 1)
    assert (names(theirs.active), names(theirs.paused), len(theirs.approvals.items)) == (["theirs"], [], 0)
    assert names(overview.of(place, LOCAL).active) == ["theirs"]


def test_a_run_without_an_owner_is_seen_by_the_project_whose_job_names_it(place: Installation) -> None:
    stand(place, "old", "failed")
    with place.database.write() as tx:
        tx.execute(sa.update(tables.runs).values(project_id=None, workspace_id=None))
    assert names(overview.of(place, ADMIN).failed) == []
    put(place, project="local", labels={"rsi_run": "old"})
    assert names(overview.of(place, ADMIN).failed) == ["old"]


def test_a_long_list_shows_its_newest_and_says_that_there_are_more(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST", 2)
    for number in range(3):
        stand(place, f"r{number}", "failed")
    found = overview.of(place, ADMIN).failed
    assert (names(found), found.more) == (["r2", "r1"], True)


def test_a_record_that_cannot_be_read_keeps_no_other_from_being_shown(place: Installation) -> None:
    if place.database.url.startswith("postgresql"):
        return  # refuses to store it
    for run in ("good", "broken"):
        stand(place, run, "running")
    with place.database.write() as tx:
        tx.execute(sa.text("update runs set limits = '{\"usd_cap\": ', error = '[1' where run = 'broken'"))
    found = {str(row["run"]): row["limits"] for row in overview.of(place, ADMIN).active.items}
    assert found == {"broken": None, "good": {}}


def test_workers_that_are_alive_are_counted(place: Installation) -> None:
    assert overview.of(place, ADMIN).workers == 0
    with place.database.write() as tx:
        workers.register(tx, "here", 1)
    assert overview.of(place, ADMIN).workers == 1


def test_who_may_not_read_sees_nothing(place: Installation) -> None:
    with pytest.raises(AccessDenied):
        overview.of(place, replace(ADMIN, permissions=frozenset()))
