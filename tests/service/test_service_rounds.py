from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from approvals_world import ADMIN, place_on

from everloop.errors import AccessDenied, RunNotFound
from everloop.service import rounds, run_start, runs
from everloop.service.installation import Installation
from everloop.service.request import StartRequest
from everloop.store import rounds as stored
from everloop.store.database import Database

START = {"run": "r", "brief": "Improve.", "domain": "synthetic", "rounds": 9, "limits": {"model_usd_cap": 1.0}}


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    place = place_on(database, tmp_path / "home")
    run_start.start(place, StartRequest.from_json(START), ADMIN)
    with place.database.write() as tx:
        for number in range(1, 8):
            stored.begin(tx, "r", number)
    return place


@pytest.mark.parametrize(
    ("last", "numbers"), [(5, [3, 4, 5]), (2, [1, 2]), (7, [5, 6, 7]), (999_999_999, [5, 6, 7]), (0, [])]
)
def test_rounds_are_given_up_to_the_one_that_is_asked_for(place: Installation, last: int, numbers: list[int]) -> None:
    assert [one["round"] for one in rounds.upto(place, "r", last, 3, ADMIN)] == numbers


def test_only_who_sees_the_run_sees_its_rounds(place: Installation) -> None:
    stranger = replace(ADMIN, project_id="another", method="session")
    with pytest.raises(RunNotFound):
        rounds.upto(place, "r", 5, 3, stranger)
    with pytest.raises(AccessDenied):
        rounds.upto(place, "r", 5, 3, replace(ADMIN, permissions=frozenset()))


def test_the_live_view_takes_a_cursor_beyond_any_event(place: Installation) -> None:
    """2**53 is the most that a caller may name, and more than PostgreSQL's integer columns hold."""
    assert runs.live(place, "r", 2**53, ADMIN)["events"] == []
