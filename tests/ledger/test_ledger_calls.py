"""Calls: one row a call, reserved before each attempt, settled after it, answered once."""

from __future__ import annotations

import threading

import pytest

from everloop.errors import CapReached
from everloop.ledger import calls, caps, reservations
from everloop.store.database import Database
from everloop.values import Money

LIMITS = {"model_usd_cap": 0.001, "usd_cap": 1.0, "model_request_cap": 5, "student_request_cap": 3, "request_cap": None}


@pytest.fixture
def account(database: Database) -> str:
    with database.write() as tx:
        caps.open_caps(tx, "r", dict(LIMITS))
    return "r"


def begin(database: Database, call: str = "k", micros: int = 400, *, student: bool = False) -> calls.CallRow:
    with database.write(durable=True) as tx:
        return calls.begin(tx, "r", call, model="m", student=student, micros=micros)


def end(
    database: Database, call: str = "k", micros: int = 100, requests: int = 1, answer: str | None = "{}", **more: bool
) -> None:
    with database.read() as tx:
        row = calls.get(tx, "r", call)
    reserved = row.open_micros if row and row.open_micros is not None else 0
    given = {"micros": micros, "requests": requests, "response": answer, "student": more.get("student", False)}
    with database.write(durable=True) as tx:
        calls.end(tx, "r", call, reserved=reserved, **given)  # type: ignore[arg-type]


def meters(database: Database) -> dict[str, tuple[int, int]]:
    with database.read() as tx:
        rows = tx.execute(caps.caps.select()).mappings()
        return {row["cap"]: (row["reserved"], row["spent"]) for row in rows}


def test_an_attempt_is_reserved_and_settled_on_every_cap_it_counts_against(database: Database, account: str) -> None:
    begin(database)
    held = meters(database)
    assert held["model_usd_cap"] == held["usd_cap"] == (400, 0)
    assert held["model_request_cap"] == held["request_cap"] == (1, 0)
    assert held["student_request_cap"] == (0, 0)
    end(database)
    spent = meters(database)
    assert spent["model_usd_cap"] == spent["usd_cap"] == (0, 100)
    assert spent["model_request_cap"] == spent["request_cap"] == (0, 1)


def test_a_students_call_counts_against_its_own_request_cap(database: Database, account: str) -> None:
    begin(database, student=True)
    end(database, student=True)
    spent = meters(database)
    assert (spent["student_request_cap"], spent["model_request_cap"]) == ((0, 1), (0, 0))
    assert spent["model_usd_cap"] == (0, 100)


def test_an_answered_call_is_returned_and_reserves_nothing(database: Database, account: str) -> None:
    begin(database)
    end(database, answer='{"a": 1}')
    again = begin(database)
    assert (again.response, again.spent_micros, again.attempts) == ('{"a": 1}', 100, 1)
    assert meters(database)["model_usd_cap"] == (0, 100)


def test_a_failed_attempt_is_charged_and_may_be_tried_again(database: Database, account: str) -> None:
    begin(database)
    end(database, micros=400, answer=None)
    row = begin(database)
    assert (row.attempts, row.spent_micros, row.response) == (2, 400, None)
    assert meters(database)["model_usd_cap"] == (400, 400)


def test_an_attempt_that_was_never_sent_costs_nothing(database: Database, account: str) -> None:
    begin(database)
    end(database, micros=0, requests=0, answer=None)
    assert meters(database)["model_usd_cap"] == (0, 0)
    assert meters(database)["model_request_cap"] == (0, 0)


def test_an_attempt_left_open_by_a_dead_process_is_charged_at_its_worst(database: Database, account: str) -> None:
    begin(database, micros=400)
    row = begin(database, micros=300)
    assert (row.attempts, row.spent_micros) == (2, 400)
    assert meters(database)["model_usd_cap"] == (300, 400)
    assert meters(database)["model_request_cap"] == (1, 1)


def test_a_cap_refuses_before_anything_is_sent_and_nothing_is_reserved(database: Database, account: str) -> None:
    begin(database, "a", 700)
    with pytest.raises(CapReached, match="model_usd_cap"):
        begin(database, "b", 400)
    assert meters(database)["model_usd_cap"] == (700, 0)
    with database.read() as tx:
        assert calls.get(tx, "r", "b") is None


def test_request_caps_are_hard_too(database: Database, account: str) -> None:
    for place in range(3):
        begin(database, str(place), 1, student=True)
        end(database, str(place), 1, student=True)
    with pytest.raises(CapReached, match="student_request_cap"):
        begin(database, "more", 1, student=True)


def test_an_end_without_a_beginning_changes_nothing(database: Database, account: str) -> None:
    end(database)
    begin(database)
    end(database)
    end(database, micros=999)
    assert meters(database)["model_usd_cap"] == (0, 100)


def test_a_students_answers_are_forgotten_by_round_and_the_spend_stays(database: Database, account: str) -> None:
    for key in ("r1.evaluate.0#a", "r10.evaluate.0#a", "r1.propose.1#a"):
        begin(database, key, 10, student="evaluate" in key)
        end(database, key, 10, student="evaluate" in key)
    with database.write() as tx:
        calls.forget_answers(tx, "r", "r1.")
    with database.read() as tx:
        left = [calls.get(tx, "r", key) for key in ("r1.evaluate.0#a", "r10.evaluate.0#a", "r1.propose.1#a")]
        assert [one is None for one in left] == [True, False, False]
        assert reservations.spend(tx, "r").model == Money(30)


def test_two_that_begin_the_same_call_at_once_leave_the_meters_right(database: Database, account: str) -> None:
    started, done = threading.Barrier(2), []

    def both() -> None:
        started.wait()
        database.retrying(lambda: begin(database, micros=400))
        done.append(1)

    threads = [threading.Thread(target=both) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(done) == 2
    with database.read() as tx:
        row = calls.get(tx, "r", "k")
    assert row is not None
    assert (row.attempts, row.open_micros, row.spent_micros) == (2, 400, 400)
    assert meters(database)["model_usd_cap"] == (400, 400)


def test_a_call_under_way_is_not_forgotten(database: Database, account: str) -> None:
    begin(database, "r1.evaluate.0#a", 10, student=True)
    with database.write() as tx:
        calls.forget_answers(tx, "r", "r1.")
    end(database, "r1.evaluate.0#a", 4, student=True)
    assert meters(database)["model_usd_cap"] == (0, 4)


def test_answered_calls_of_an_occasion_are_found(database: Database, account: str) -> None:
    for key in ("r1.a#x", "r1.b#y", "r10.a#z"):
        begin(database, key, 10)
    end(database, "r1.a#x", 5)
    end(database, "r1.b#y", 5, answer=None)
    end(database, "r10.a#z", 5)
    with database.read() as tx:
        assert calls.answered(tx, "r", "r1.") == {"r1.a#x"}
