"""The history document: money of rounds, money over time, phases, the comparison under way; the unknown is null."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from approvals_world import ADMIN, STRANGER, place_on, recorded

from everloop.errors import AccessDenied, RunNotFound
from everloop.events import Json
from everloop.evidence.gates.base import GateState
from everloop.evidence.gates.registry import gate_to_json, make_gate
from everloop.loop.lines import Artifact, Lines
from everloop.service import history, runs
from everloop.service.installation import Installation
from everloop.store import looks, phases, rounds, tables
from everloop.store import runs as stored
from everloop.store.database import Database
from everloop.store.looks import Look

BASE = Artifact("v0", "checkpoints/v0", "0" * 64, 10, "")
HEAD = Artifact("r1c1", "checkpoints/r1c1", "1" * 64, 20, "")


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    made = place_on(database, tmp_path / "home")
    recorded(made)
    change(made, protocol={"gate": gate_to_json(make_gate("two_line"))})
    return made


def change(place: Installation, **columns: Any) -> None:
    with place.database.write() as tx:
        stored.update(tx, "r", **columns)


def told(place: Installation) -> Any:
    return history.of(place, "r", ADMIN)


def usd(model: float, gpu: float) -> Json:
    return {"model_usd": model, "gpu_usd": gpu, "total_usd": model + gpu, "model_requests": 1, "student_requests": 0}


def held(place: Installation, number: int, spend: Json, opened: Json | None = None) -> None:
    with place.database.write() as tx:
        rounds.begin(tx, "r", number)
        if opened is not None:
            phases.add(tx, "r", number, "open", "", {"steers": [], "spend": opened})
        rounds.finish(tx, "r", number, decision="kept", summary="", version=None, plan="", spend=spend)


def saw(place: Installation, *pairs: int, candidate: str = "r1c1", ruling: str = "more") -> None:
    fixed: dict[str, Any] = {"candidate": candidate, "round": 1, "against": "v0", "wins": 9, "losses": 1}
    with place.database.write() as tx:
        for one in pairs:
            seen = Look(**fixed, pairs=one, log_e=2.5, futility=-1.5, threshold=-log(0.005), ruling=ruling)
            looks.put(tx, "r", seen)


def test_a_run_that_has_not_begun_has_an_empty_history(place: Installation) -> None:
    found = told(place)
    assert [found[name] for name in ("rounds", "rounds_total", "phases", "comparison")] == [[], 0, [], None]
    (now,) = found["spend"]
    assert (now["round"], now["total_usd"]) == (None, 0.0)


def test_what_was_never_metered_is_null_and_not_zero(place: Installation) -> None:
    with place.database.write() as tx:
        tx.execute(sa.delete(tables.caps).where(tables.caps.c.run == "r"))
    (now,) = told(place)["spend"]
    assert [now[name] for name in ("model_usd", "gpu_usd", "total_usd")] == [None, None, None]


def test_money_over_time_counts_what_is_spent_between_rounds(place: Installation) -> None:
    held(place, 1, usd(0.5, 0.25), opened=usd(0.1, 1.0))  # the base was trained before
    held(place, 2, usd(0.25, 0.5), opened=usd(0.6, 2.0))  # the control arm was trained between the rounds
    found = told(place)
    assert [one["total_usd"] for one in found["rounds"]] == [0.75, 0.75]
    assert [(one["round"], one["model_usd"], one["gpu_usd"]) for one in found["spend"][:-1]] == [
        (1, 0.6, 1.25),
        (2, 0.85, 2.5),
    ]
    assert [one["at"] for one in found["spend"][:-1]] == [one["ended_at"] for one in found["rounds"]]


def test_without_a_record_of_what_was_spent_before_rounds_add_up(place: Installation) -> None:
    held(place, 1, usd(0.5, 0.25))
    held(place, 2, usd(0.5, 0.25))
    assert [one["total_usd"] for one in told(place)["spend"][:-1]] == [0.75, 1.5]


def test_a_round_under_way_has_no_money_and_no_end(place: Installation) -> None:
    with place.database.write() as tx:
        rounds.begin(tx, "r", 1)
    found = told(place)
    assert [found["rounds"][0][name] for name in ("decision", "ended_at", "model_usd", "total_usd")] == [None] * 4
    assert len(found["spend"]) == 1


def test_what_a_round_does_not_say_of_its_money_is_null(place: Installation) -> None:
    held(place, 1, {"model_usd": 0.5})
    found = told(place)
    assert (found["rounds"][0]["gpu_usd"], found["spend"][0]["gpu_usd"]) == (None, None)
    assert found["spend"][0]["model_usd"] == 0.5


def test_the_newest_thousand_rounds_are_told_and_the_phases_of_the_newest_twenty(place: Installation) -> None:
    with place.database.write() as tx:
        for number in range(1, 1003):
            rounds.begin(tx, "r", number)
            phases.add(tx, "r", number, "diagnose", "", {}, started_at="2026-11-29T00:00:00.000000Z")
    change(place, round=1002)
    found = told(place)
    assert (found["rounds_total"], len(found["rounds"]), found["rounds"][0]["round"]) == (1002, 1000, 3)
    assert [one["round"] for one in found["phases"]] == list(range(983, 1003))


def test_a_phase_has_its_seconds_and_the_candidate_it_is_about(place: Installation) -> None:
    with place.database.write() as tx:
        phases.add(tx, "r", 0, "generation", "g1", {}, started_at="2026-11-29T00:00:00.000000Z")
        phases.add(tx, "r", 0, "evaluate", "r1c1", {})
    first, second = told(place)["phases"]
    assert (first["candidate"], first["seconds"] > 0) == (None, True)
    assert (second["candidate"], second["started_at"], second["seconds"]) == ("r1c1", None, None)


def test_a_phase_whose_times_cannot_be_read_has_no_length(place: Installation) -> None:
    with place.database.write() as tx:
        phases.add(tx, "r", 0, "evaluate", "r1c1", {}, started_at="0001-01-01T00:00:00+14:00")
        phases.add(tx, "r", 0, "screen", "r1c1", {}, started_at="2026-11-29T00:00:00")  # no zone: UTC
    first, second = told(place)["phases"]
    assert (first["seconds"], second["seconds"] > 0) == (None, True)


def test_the_phase_at_work_has_no_end(place: Installation) -> None:
    with place.database.write() as tx:
        phases.add(tx, "r", 1, "admit", "r1c1", {})
    change(place, round=1, phase="evaluate", state="running")
    done, at_work = told(place)["phases"]
    assert at_work == {
        "round": 1,
        "candidate": "r1c1",
        "phase": "evaluate",
        "started_at": done["ended_at"],
        "ended_at": None,
        "seconds": None,
    }
    change(place, state="paused")
    assert len(told(place)["phases"]) == 1


def test_a_comparison_under_way_has_not_stopped(place: Installation) -> None:
    saw(place, 40, 60)
    found = told(place)["comparison"]
    assert (found["stopped"], [one["pairs"] for one in found["looks"]]) == (None, [40, 60])
    assert (found["alpha"], found["futility_threshold"], found["max_pairs"]) == (0.005, -log(0.5), 2000)


def test_the_comparison_that_was_looked_at_last_is_told(place: Installation) -> None:
    saw(place, 40, ruling="futility")
    saw(place, 40, 60, candidate="r2c1")
    found = told(place)["comparison"]
    assert (found["candidate"], len(found["looks"])) == ("r2c1", 2)


def test_a_comparison_is_told_while_its_first_pairs_are_measured(place: Installation) -> None:
    saw(place, 40, candidate="r0c1", ruling="futility")
    lines = Lines(HEAD, BASE, "v0", BASE, gate=GateState(moves=8))
    change(place, state="running", phase="certify", round=2, lines=lines.to_json())
    found = told(place)["comparison"]
    assert (found["candidate"], found["against"], found["looks"], found["stopped"]) == ("r1c1", "v0", [], None)
    assert (found["round"], found["alpha"]) == (2, 0.005)
    saw(place, 40)
    assert len(told(place)["comparison"]["looks"]) == 1


def test_a_policy_without_a_test_has_no_bounds(place: Installation) -> None:
    change(place, protocol={"gate": gate_to_json(make_gate("mcnemar"))})
    seen = Look(candidate="r1c1", round=1, against="v0", pairs=400, wins=9, losses=1, **NOTHING, ruling="budget")
    with place.database.write() as tx:
        looks.put(tx, "r", seen)
    found = told(place)["comparison"]
    assert [found[name] for name in ("alpha", "threshold", "futility_threshold", "max_pairs")] == [None] * 3 + [400]


NOTHING: dict[str, Any] = dict.fromkeys(("log_e", "futility", "threshold"))


def test_only_who_sees_the_run_and_may_read_gets_its_history(place: Installation) -> None:
    with pytest.raises(RunNotFound):
        history.of(place, "r", STRANGER)
    with pytest.raises(AccessDenied):
        history.of(place, "r", replace(ADMIN, permissions=frozenset()))


def test_every_new_look_is_another_mark(place: Installation) -> None:
    marks = [runs.mark(place, "r", ADMIN)]
    for pairs in (40, 60):
        saw(place, pairs)
        marks.append(runs.mark(place, "r", ADMIN))
    saw(place, 60)
    assert len(set(marks)) == 3
    assert runs.mark(place, "r", ADMIN) == marks[-1], "the same look again is no news"


def test_a_comparison_measured_again_replaces_what_it_saw_before(place: Installation) -> None:
    saw(place, 39, 60)
    before = {one["pairs"]: one for one in told(place)["comparison"]["looks"]}
    kept: dict[str, Any] = {
        "candidate": "r1c1",
        "round": 1,
        "against": "v0",
        "futility": -1.5,
        "threshold": -log(0.005),
    }
    with place.database.write() as tx:
        again = Look(**kept, pairs=60, wins=9, losses=1, log_e=2.5, ruling="more")
        last = Look(**kept, pairs=80, wins=20, losses=1, log_e=6.0, ruling="shown")
        looks.settle(tx, "r", [again, last])
    found = told(place)["comparison"]
    assert [one["pairs"] for one in found["looks"]] == [60, 80]
    assert found["looks"][0] == before[60]
    assert found["stopped"] == "shown"


def test_a_list_may_be_of_one_group_page_by_page(place: Installation) -> None:
    for number in range(5):
        recorded(place, f"h{number}")
        with place.database.write() as tx:
            stored.update(tx, f"h{number}", group="harness")
    first = runs.pages(place, limit=3, group="harness", caller=ADMIN)
    rest = runs.pages(place, limit=3, cursor=first.next_cursor, group="harness", caller=ADMIN)
    assert [one["run"] for one in (*first.items, *rest.items)] == ["h4", "h3", "h2", "h1", "h0"]
    assert runs.pages(place, group="data", caller=ADMIN).items == []
    assert runs.pages(place, group="harness", caller=STRANGER).items == []
