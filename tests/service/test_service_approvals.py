"""Approvals: who sees them, who decides them, what a decision does to the run that waits."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from approvals_world import ADMIN, AUTOMATION, STRANGER, asked, place_on, recorded, waiting
from lost_answers import lose_answers

from everloop.errors import AccessDenied, InvalidCursor, InvalidRequest, NotFound, StateConflict
from everloop.service import approvals, runs
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.store import runs as stored_runs
from everloop.store.database import Database


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    return place_on(database, tmp_path / "home")


def row(place: Installation, run: str = "r") -> stored_runs.RunRow:
    with place.database.read() as tx:
        return stored_runs.require(tx, run)


def test_an_approval_is_asked_for_once(place: Installation) -> None:
    approval = waiting(place)
    asked(place, "r", "r1c1")
    (one,) = approvals.listing(place).items
    assert (one["approval_id"], one["state"], one["round"], one["baseline"]) == (approval, "pending", 1, "v0")
    assert "key" not in one and one["evidence"] == {"change": 0.1}


@pytest.mark.parametrize(("decision", "state"), [("approve", "approved"), ("reject", "rejected")])
def test_a_decision_is_recorded_with_who_and_why_and_the_run_goes_on(
    place: Installation, decision: str, state: str
) -> None:
    approval = waiting(place)
    decided = approvals.decide(place, approval, decision, "  looked at it ", ADMIN)
    assert (decided["state"], decided["decided_by"], decided["reason"]) == (state, "user:1", "looked at it")
    assert decided == approvals.get(place, approval)
    assert (row(place).state, row(place).generation, row(place).error) == ("running", 2, None)
    told = runs.live(place, "r")["events"]
    assert [one["text"] for one in told] == [f"approval {approval} of r1c1 {state} by user:1: looked at it"]


def test_decided_twice_is_a_conflict_that_names_the_first(place: Installation) -> None:
    approval = waiting(place)
    approvals.decide(place, approval, "approve", None, ADMIN)
    with pytest.raises(StateConflict, match="user:1 approved it"):
        approvals.decide(place, approval, "reject", "no", LOCAL)
    assert (row(place).generation, approvals.get(place, approval)["state"]) == (2, "approved")


def test_a_decision_whose_answer_was_lost_is_taken_once(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    approval = waiting(place)
    lose_answers(place.database, monkeypatch)
    decided = approvals.decide(place, approval, "approve", None, ADMIN)
    assert (decided["state"], decided["decided_by"], row(place).generation) == ("approved", "user:1", 2)
    assert len(runs.live(place, "r")["events"]) == 1  # type: ignore[arg-type]
    with pytest.raises(StateConflict):
        approvals.decide(place, approval, "approve", None, ADMIN)


def test_of_many_who_decide_at_once_one_does(place: Installation) -> None:
    approval = waiting(place)
    done: list[str] = []

    def decide(name: str) -> None:
        try:
            approvals.decide(place, approval, "approve", None, replace(ADMIN, subject=name))
        except StateConflict:
            return
        done.append(name)

    threads = [threading.Thread(target=decide, args=(f"user:{place}",)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1 and approvals.get(place, approval)["decided_by"] == done[0]
    assert row(place).generation == 2


@pytest.mark.parametrize("state", ["running", "stopped", "failed"])
def test_a_run_that_does_not_wait_is_left_as_it_is(place: Installation, state: str) -> None:
    approval = waiting(place)
    with place.database.write() as tx:
        stored_runs.update(tx, "r", state=state)
    approvals.decide(place, approval, "approve", None, ADMIN)
    assert (row(place).state, row(place).generation) == (state, 1)


def test_a_run_that_is_paused_for_something_else_stays_paused(place: Installation) -> None:
    approval = waiting(place)
    with place.database.write() as tx:
        stored_runs.update(tx, "r", error={"code": "MODEL_UNAVAILABLE", "message": "away"})
    approvals.decide(place, approval, "approve", None, ADMIN)
    assert (row(place).state, row(place).generation) == ("paused", 1)


def test_who_may_not_approve_is_refused_and_may_look(place: Installation) -> None:
    approval = waiting(place)
    assert len(approvals.listing(place, AUTOMATION).items) == 1
    with pytest.raises(AccessDenied, match=r"training\.approve"):
        approvals.decide(place, approval, "approve", None, AUTOMATION)
    with pytest.raises(AccessDenied, match="read"):
        approvals.listing(place, replace(ADMIN, permissions=frozenset()))


def test_another_projects_approvals_are_as_if_they_were_not_there(place: Installation) -> None:
    approval = waiting(place)
    assert approvals.listing(place, STRANGER).items == []
    for act in (
        lambda: approvals.get(place, approval, STRANGER),
        lambda: approvals.decide(place, approval, "approve", None, STRANGER),
        lambda: approvals.decide_document(place, approval, {"decision": "approve"}, STRANGER),
        lambda: approvals.get(place, "apr-" + "0" * 20, ADMIN),
        lambda: approvals.get(place, "\0", ADMIN),
    ):
        with pytest.raises(NotFound, match="is not known"):
            act()
    assert row(place).state == "paused"


BAD: list[tuple[Any, str]] = [
    ({"decision": "maybe"}, "decision must be"),
    ({"decision": None}, "decision must be"),
    ({"decision": ["approve"]}, "decision must be"),
    ({"decision": "reject"}, "reason is required"),
    ({"decision": "reject", "reason": "  "}, "reason is required"),
    ({"decision": "approve", "reason": 7}, "reason is required"),
    ({"decision": "approve", "reason": "x" * 4001}, "too long"),
    ({"decision": "approve", "reason": "a\0b"}, "no text"),
    ({"decision": "approve", "by": "me"}, "by is not known"),
    ("approve", "JSON object"),
]


def test_bad_decisions_name_the_field_and_decide_nothing(place: Installation) -> None:
    approval = waiting(place)
    for document, named in BAD:
        with pytest.raises(InvalidRequest, match=named):
            approvals.decide_document(place, approval, document, ADMIN)
    assert approvals.get(place, approval)["state"] == "pending" and row(place).state == "paused"


def test_pages_are_newest_first_and_meet_without_overlap(place: Installation) -> None:
    recorded(place)
    names = [f"r{number}c1" for number in range(1, 8)]
    for name in names:
        asked(place, "r", name)
    seen, cursor = [], None
    while True:
        page = approvals.listing(place, ADMIN, limit=3, cursor=cursor)
        seen += [one["candidate"] for one in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == names[::-1]


def test_a_state_chooses_and_an_unknown_one_is_refused(place: Installation) -> None:
    first, second = waiting(place, "a"), waiting(place, "b")
    approvals.decide(place, first, "approve", None, ADMIN)
    assert [one["approval_id"] for one in approvals.listing(place, state="pending").items] == [second]
    assert [one["approval_id"] for one in approvals.listing(place, state="approved").items] == [first]
    with pytest.raises(InvalidRequest, match="state must be"):
        approvals.listing(place, state="open")
    with pytest.raises(InvalidCursor):
        approvals.listing(place, cursor="nonsense")
