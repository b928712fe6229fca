"""Caps hold for any number of processes, on both databases."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa

from everloop.errors import CapReached
from everloop.ledger import caps, reservations
from everloop.store import tables
from everloop.store.database import Database

TAKER = """
import sys
from everloop.errors import CapReached
from everloop.ledger import reservations
from everloop.store.database import Database

database, name, taken = Database(sys.argv[1]), sys.argv[2], 0
for number in range(30):
    def take():
        with database.write(durable=True) as tx:
            return reservations.reserve(tx, "r", f"{name}.{number}", model_micros=100, model_requests=1)
    def settle():
        with database.write(durable=True) as tx:
            return reservations.settle(tx, "r", f"{name}.{number}", model_micros=100, model_requests=1)
    try:
        taken += database.retrying(take)
    except CapReached:
        continue
    assert database.retrying(settle)
print(taken)
"""


@pytest.fixture
def opened(database: Database) -> Database:
    with database.write() as tx:
        caps.open_caps(tx, "r", {"model_usd_cap": 0.005, "student_request_cap": 10})
    return database


def meters(database: Database) -> dict[str, tuple[int, int]]:
    with database.read() as tx:
        return {row.cap: (row.reserved, row.spent) for row in tx.execute(caps.caps.select())}


def test_processes_never_pass_a_cap_together(opened: Database) -> None:
    command = [sys.executable, "-c", TAKER, opened.url]
    several = [subprocess.Popen([*command, f"p{number}"], stdout=subprocess.PIPE) for number in range(3)]
    taken = [int(process.communicate(timeout=120)[0]) for process in several]
    assert [process.returncode for process in several] == [0, 0, 0]
    assert sum(taken) == 50
    assert meters(opened)["model_usd_cap"] == (0, 5000)
    assert meters(opened)["usd_cap"] == (0, 5000)
    assert meters(opened)["request_cap"] == (0, 50)


def test_a_key_is_reserved_and_settled_once(opened: Database) -> None:
    with opened.write() as tx:
        assert reservations.reserve(tx, "r", "k", student_requests=4)
        assert not reservations.reserve(tx, "r", "k", student_requests=4)
        assert reservations.settle(tx, "r", "k", student_requests=3)
        assert not reservations.settle(tx, "r", "k", student_requests=3)
        assert not reservations.release(tx, "r", "k")
    assert meters(opened)["student_request_cap"] == (0, 3)


def test_all_or_nothing(opened: Database) -> None:
    told = r"student_request_cap.*0 spent, 0 reserved, 11 wanted of 10"
    with pytest.raises(CapReached, match=told), opened.write() as tx:
        reservations.reserve(tx, "r", "k", model_micros=10, student_requests=11)
    assert set(meters(opened).values()) == {(0, 0)}
    with opened.write() as tx:
        assert reservations.reserve(tx, "r", "k", student_requests=10)


def test_a_cost_above_its_reservation_is_recorded_in_full(opened: Database) -> None:
    with opened.write() as tx:
        reservations.reserve(tx, "r", "k", model_micros=4000)
        reservations.settle(tx, "r", "k", model_micros=9000)
    assert meters(opened)["model_usd_cap"] == (0, 9000)
    with opened.read() as tx:
        assert caps.exhausted(tx, "r") == "model_usd_cap"


def test_a_release_gives_all_back(opened: Database) -> None:
    with opened.write() as tx:
        reservations.reserve(tx, "r", "k", model_micros=10, compute_micros=5, model_requests=1, student_requests=2)
        assert reservations.release(tx, "r", "k")
    assert set(meters(opened).values()) == {(0, 0)}


def test_spend_as_the_run_document_shows_it(opened: Database) -> None:
    with opened.write() as tx:
        reservations.reserve(tx, "r", "k", model_micros=300, compute_micros=200, model_requests=1, student_requests=7)
        reservations.settle(tx, "r", "k", model_micros=300, compute_micros=200, model_requests=1, student_requests=7)
    with opened.read() as tx:
        assert reservations.spend(tx, "r").to_json() == {
            "model_usd": 0.0003,
            "gpu_usd": 0.0002,
            "total_usd": 0.0005,
            "model_requests": 1,
            "student_requests": 7,
        }


NOTHING_METERED = dict.fromkeys(("model_usd", "gpu_usd", "total_usd", "model_requests", "student_requests"))


def test_what_was_never_metered_is_missing_and_not_zero(opened: Database) -> None:
    with opened.read() as tx:
        assert reservations.spend(tx, "none").to_json() == NOTHING_METERED
        found = reservations.spends(tx, ["r", "none"])
    assert (found["none"].to_json(), found["r"].to_json()["total_usd"]) == (NOTHING_METERED, 0.0)


def test_of_a_meter_that_is_missing_only_what_rests_on_it_is(opened: Database) -> None:
    with opened.write() as tx:
        tx.execute(sa.delete(tables.caps).where(tables.caps.c.run == "r", tables.caps.c.cap == "model_usd_cap"))
    with opened.read() as tx:
        told = reservations.spend(tx, "r").to_json()
    assert (told["model_usd"], told["gpu_usd"], told["total_usd"]) == (None, None, 0.0)


def test_what_was_spent_since_then_is_known_where_both_are() -> None:
    now = {"model_usd": 0.3, "gpu_usd": None, "total_usd": 0.5, "model_requests": 3}
    before = {"model_usd": 0.1, "gpu_usd": 0.1, "total_usd": None, "model_requests": 1}
    told = {"model_usd": 0.2, "gpu_usd": None, "total_usd": None, "model_requests": 2}
    assert reservations.since(before, now) == told


def test_a_negative_cost_is_refused(opened: Database) -> None:
    with pytest.raises(ValueError, match="negative"), opened.write() as tx:
        reservations.reserve(tx, "r", "k", compute_micros=-1)
