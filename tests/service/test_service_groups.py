"""Where the runs are shown that jobs and approvals name: those that the caller sees, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from approvals_world import ADMIN, STRANGER, place_on, recorded
from submitting import put

from everloop.service import groups
from everloop.service.caller import LOCAL
from everloop.store import runs as stored_runs
from everloop.store.database import Database


def test_a_run_is_found_below_its_group_and_one_of_an_odd_group_below_model(database: Database, tmp_path: Path) -> None:
    place = place_on(database, tmp_path)
    for run, group in (("one", "data"), ("two", "odd")):
        recorded(place, run)
        with database.write() as tx:
            stored_runs.update(tx, run, group=group)
    assert groups.of(place, {"one", "two", "none-such"}, ADMIN) == {"one": "data", "two": "model"}
    assert groups.of(place, (), ADMIN) == {}


def test_a_run_of_another_project_is_not_found(database: Database, tmp_path: Path) -> None:
    place = place_on(database, tmp_path)
    recorded(place, "mine")
    put(place, project="other", labels={"rsi_run": "mine"})
    assert groups.of(place, {"mine"}, STRANGER) == {}
    assert groups.of(place, {"mine"}, replace(ADMIN, workspace_id="elsewhere")) == {}
    assert groups.of(place, {"mine"}, LOCAL) == {"mine": "model"}


def test_a_run_without_an_owner_is_found_where_a_job_carries_its_label(database: Database, tmp_path: Path) -> None:
    place = place_on(database, tmp_path)
    recorded(place, "old")
    with database.write() as tx:
        stored_runs.update(tx, "old", workspace_id=None, project_id=None)
    assert groups.of(place, {"old"}, ADMIN) == {}
    put(place, project="local", labels={"rsi_run": "old"})
    assert groups.of(place, {"old"}, ADMIN) == {"old": "model"}
    assert groups.of(place, {"old"}, STRANGER) == {}
