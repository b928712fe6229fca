"""The weekly sample of rejected candidates: the same for whoever asks, judged by people, counted by the calibration."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from approvals_world import ADMIN, AUTOMATION, STRANGER, place_on, recorded
from lost_answers import lose_answers

from everloop.errors import AccessDenied, InvalidRequest, RunNotFound, StateConflict
from everloop.service import evaluator, samples
from everloop.service.installation import Installation
from everloop.service.samples import Week
from everloop.store import candidates, labels
from everloop.store.database import Database
from everloop.store.tables import candidates as table
from everloop.store.tables import runs as runs_table
from everloop.values import iso

sys.path.append(str(Path(__file__).parents[1] / "evaluator"))

from records import fill

LAST = str(Week.of(datetime.now(UTC) - timedelta(days=7)))
WITHIN = Week.from_text(LAST).begin + timedelta(days=2)


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    return place_on(database, tmp_path / "home")


def proposed(
    place: Installation, run: str, names: list[str], *, at: datetime = WITHIN, decision: str | None = "rejected"
) -> None:
    proposal: Any = {"plan": {}, "diff": "", "rationale": {"what": "more rows"}, "interventions": []}
    with place.database.write() as tx:
        for name in names:
            candidates.put(tx, run, name, round=1, proposal=proposal, fingerprint=name)
            candidates.update(tx, run, name, decision=decision, reasons=["gate: no"])
        where = (table.c.run == run, table.c.candidate.in_(names))
        tx.execute(sa.update(table).where(*where).values(at=iso(at)))


def drawn(place: Installation, **more: Any) -> list[tuple[Any, Any]]:
    return [(one["run"], one["candidate"]) for one in samples.listing(place, **more)["items"]]


def test_at_most_twenty_are_drawn_and_the_same_whoever_asks_and_whatever_the_order(place: Installation) -> None:
    names = [f"r{number}c1" for number in range(1, 61)]
    recorded(place)
    proposed(place, "r", names)
    found = samples.listing(place)
    assert (found["week"], found["complete"], found["rejected"], found["judged"]) == (LAST, True, 60, 0)
    assert len(found["items"]) == 20
    first = drawn(place)
    assert first == drawn(place, caller=ADMIN) == drawn(place, caller=AUTOMATION, week=LAST)
    assert first != sorted(first), "a sample is not the first twenty"


def test_two_projects_and_two_weeks_have_samples_of_their_own(place: Installation) -> None:
    names = [f"r{number}c1" for number in range(1, 41)]
    earlier = WITHIN - timedelta(days=7)
    for run, project in (("a", "local"), ("b", "other")):
        recorded(place, run, project)
        proposed(place, run, names)
    recorded(place, "c")
    proposed(place, "c", names, at=earlier)
    assert {run for run, _ in drawn(place)} == {"a"}
    assert (
        {run for run, _ in drawn(place, caller=STRANGER)}
        == {"b"}
        == {run for run, _ in drawn(place, project_id="other")}
    )
    assert {run for run, _ in drawn(place, caller=ADMIN, project_id="other")} == {"a"}, "a key has its own project"
    before = drawn(place, week=str(Week.of(earlier)))
    assert {run for run, _ in before} == {"c"}
    assert [name for _, name in before] != [name for _, name in drawn(place)]


def test_what_was_not_rejected_is_in_no_sample(place: Installation) -> None:
    recorded(place)
    for number, decision in enumerate(("kept", "certified", "error", None), 3):
        proposed(place, "r", [f"r{number}c1"], decision=decision)
    proposed(place, "r", ["r2c1"], decision="reverted")
    assert drawn(place) == [("r", "r2c1")]


def test_a_week_begins_on_monday_at_midnight_utc(place: Installation) -> None:
    recorded(place)
    week, instant = Week.from_text(LAST), timedelta(microseconds=1)
    for number, at in enumerate((week.begin - instant, week.begin, week.end - instant, week.end), 1):
        proposed(place, "r", [f"r{number}c1"], at=at)
    assert sorted(drawn(place)) == [("r", "r2c1"), ("r", "r3c1")]


def test_a_run_that_ended_in_the_week_is_looked_at(place: Installation) -> None:
    recorded(place)
    proposed(place, "r", ["r1c1"])
    with place.database.write() as tx:
        tx.execute(sa.update(runs_table).values(updated_at=iso(WITHIN)))
    assert drawn(place) == [("r", "r1c1")]


def test_the_present_week_is_shown_as_not_over_and_one_to_come_is_refused(place: Installation) -> None:
    now = datetime.now(UTC)
    assert samples.listing(place, week=str(Week.of(now)))["complete"] is False
    with pytest.raises(InvalidRequest, match="has not begun"):
        samples.listing(place, week=str(Week.of(now + timedelta(days=8))))


@pytest.mark.parametrize("week", ["", "2026", "2026-W00", "2026-W54", "2025-W53", "2026-w48", "0000-W01", 7, ["x"]])
def test_what_is_no_week_is_refused(week: Any) -> None:
    with pytest.raises(InvalidRequest, match="ISO week"):
        Week.from_text(week)


@pytest.mark.parametrize(
    ("day", "week"), [("2026-01-01", "2026-W01"), ("2027-01-01", "2026-W53"), ("2024-12-30", "2025-W01")]
)
def test_weeks_at_the_turn_of_a_year(day: str, week: str) -> None:
    found = Week.of(datetime.fromisoformat(day).replace(tzinfo=UTC))
    assert str(found) == week and Week.from_text(week) == found


def test_a_verdict_is_shown_in_the_sample_and_of_two_the_later_counts(place: Installation) -> None:
    recorded(place)
    proposed(place, "r", ["r1c1"])
    samples.judge(place, "r", "r1c1", False, None, ADMIN)
    judged = samples.judge(place, "r", "r1c1", True, "it fits ", ADMIN)
    assert judged == {"id": judged["id"], "run": "r", "candidate": "r1c1", "good": True} | {
        "reason": "it fits",
        "author": "user:1",
    }
    found = samples.listing(place)
    label = found["items"][0]["label"]
    assert (found["judged"], label["good"], label["reason"], label["author"]) == (1, True, "it fits", "user:1")


def test_a_verdict_on_the_sample_counts_in_the_calibration(place: Installation) -> None:
    fill(place.database, 6, signal=3.0)
    with place.database.read() as tx:
        query = sa.select(table.c.run, table.c.candidate).where(table.c.decision == "rejected")
        run, name = tx.execute(query.limit(1)).one()
    before = evaluator.report(place)
    samples.judge(place, run, name, True, "a person sees more", replace(ADMIN, method="local"))
    after = evaluator.report(place)
    assert (after["labels"], after["positives"]) == (before["labels"] + 1, before["positives"] + 1)


def test_judging_needs_the_permission_the_run_and_a_rejected_candidate(place: Installation) -> None:
    recorded(place)
    proposed(place, "r", ["r1c1"])
    proposed(place, "r", ["r2c1"], decision="certified")
    with pytest.raises(AccessDenied, match=r"training\.approve"):
        samples.judge(place, "r", "r1c1", True, None, AUTOMATION)
    for run, name, caller in (("r", "r1c1", STRANGER), ("q", "r1c1", ADMIN), ("r", "r9c9", ADMIN), ("r", "\0", ADMIN)):
        with pytest.raises(RunNotFound):
            samples.judge(place, run, name, True, None, caller)
    with pytest.raises(StateConflict, match="it is certified"):
        samples.judge(place, "r", "r2c1", True, None, ADMIN)
    with pytest.raises(InvalidRequest, match="true or false"):
        samples.judge(place, "r", "r1c1", "yes", None, ADMIN)
    assert samples.listing(place)["judged"] == 0


def test_a_verdict_whose_answer_was_lost_is_recorded_once(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(place)
    proposed(place, "r", ["r1c1"])
    lose_answers(place.database, monkeypatch)
    first = samples.judge(place, "r", "r1c1", True, "It helps.", ADMIN)
    second = samples.judge(place, "r", "r1c1", True, "It helps.", ADMIN)
    with place.database.read() as tx:
        kept = labels.newest(tx, 10)
    assert [one.id for one in kept] == [first["id"], second["id"]]
