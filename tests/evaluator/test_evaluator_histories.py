"""Verdicts as they are read from a run's record."""

from __future__ import annotations

from random import Random

import pytest
import sqlalchemy as sa
from records import FAMILIES, Recorded, fill, proposal, record, training_plan

from everloop.evaluator import Verdict, verdicts
from everloop.operators.plans import PromptPlan, TrainingPlan
from everloop.store import gates
from everloop.store.database import Database
from everloop.store.verdicts import histories
from everloop.students.base import TrainSettings


def plan(rows: int) -> TrainingPlan:
    return TrainingPlan(FAMILIES[:2], rows, 0.3, TrainSettings())


def read(database: Database, said: dict[str, bool] | None = None) -> list[Verdict]:
    with database.read() as tx:
        return [verdict for one in histories(tx, 5000) for verdict in verdicts(one, said)]


def rows(*decisions: str | None) -> list[Recorded]:
    return [Recorded(proposal(plan(100 * place), Random(place)), one) for place, one in enumerate(decisions, 1)]


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        (["rejected", "certified"], {"r1c1": False, "r2c1": True}),
        (["kept", "certified"], {"r1c1": True, "r2c1": True}),
        (["kept", "reverted"], {"r1c1": False, "r2c1": False}),
        (["certified", "kept", "reverted"], {"r1c1": True, "r2c1": False, "r3c1": False}),
        (["kept", "rejected"], {"r1c1": True, "r2c1": False}),
        (["error", None, "rejected"], {"r3c1": False}),
    ],
)
def test_what_counts_as_good_and_as_bad(database: Database, decisions: list[str], expected: dict[str, bool]) -> None:
    record(database, "r", rows(*decisions))
    assert {one.name: one.good for one in read(database)} == expected


def test_what_is_kept_in_a_run_that_goes_on_is_no_verdict_yet(database: Database) -> None:
    record(database, "r", rows("certified", "kept"), state="running")
    assert [one.name for one in read(database)] == ["r1c1"]


@pytest.mark.parametrize("shown", [True, False])
def test_the_certification_at_the_end_of_a_run_counts(database: Database, shown: bool) -> None:
    record(database, "r", rows("kept"))
    with database.write() as tx:
        gates.put(tx, "r", "certification-r1c1", {"gate": "certification", "passed": shown})
    assert [one.good for one in read(database)] == [shown]


def test_a_candidate_refused_only_for_missing_answers_is_no_verdict(database: Database) -> None:
    record(database, "r", [Recorded(proposal(plan(1), Random(1)), "rejected", "failures: 9 of 40 answers are missing")])
    assert read(database) == []


def test_each_is_compared_with_the_head_and_the_refused_plans_of_its_time(database: Database) -> None:
    record(database, "r", rows("rejected", "certified", "rejected", "kept", "reverted", "rejected"))
    found = {one.name: one.candidate for one in read(database)}
    assert found["r2c1"].head_plan is None and found["r2c1"].tried == (plan(100),)
    assert found["r3c1"].head_plan == plan(200) and found["r3c1"].tried == ()
    assert found["r5c1"].head_plan == plan(400)
    # the line went back to the certified version, and to what was refused against it
    assert found["r6c1"].head_plan == plan(200) and found["r6c1"].tried == (plan(500), plan(300))


def test_a_prompt_run_begins_at_its_base_prompt(database: Database) -> None:
    from everloop.students.prompt import Prompt

    base = PromptPlan(Prompt(system="base"))
    record(database, "r", [Recorded(proposal(PromptPlan(Prompt(system="new")), Random(1)), "rejected")], base=base)
    assert read(database)[0].candidate.head_plan == base


def test_what_a_person_said_takes_the_place_of_the_verdict(database: Database) -> None:
    record(database, "r", rows("rejected", "error", "certified"))
    found = {one.name: (one.good, one.human) for one in read(database, {"r1c1": True, "r2c1": False, "r9c1": True})}
    assert found == {"r3c1": (True, False), "r1c1": (True, True), "r2c1": (False, True)}


def test_a_plan_of_an_unknown_kind_is_left_out(database: Database) -> None:
    strange = rows("rejected")[0].proposal | {"plan": {"kind": "other"}}
    record(database, "r", [Recorded(strange, "rejected"), *rows("certified")])
    assert [one.good for one in read(database)] == [True]


def test_a_history_is_cut_at_its_end(database: Database) -> None:
    fill(database, 3, signal=1.0, length=5)
    with database.read() as tx:
        found = histories(tx, 7)
    assert [len(one.candidates) for one in found] == [5, 2]
    assert [row.round for row in found[1].candidates] == [1, 2]


def test_queries_read_index_ranges(tmp_path: object) -> None:
    database = Database(f"sqlite:///{tmp_path}/plans.db")
    database.migrate()
    record(database, "r", [Recorded(proposal(training_plan(Random(1)), Random(1)), "rejected")])
    seen: list[tuple[str, object]] = []
    sa.event.listen(database.engine, "after_cursor_execute", lambda c, u, text, given, *_: seen.append((text, given)))
    with database.read() as tx:
        histories(tx, 10)
        for text, given in [pair for pair in seen if pair[0].startswith("SELECT")]:
            steps = [row[3] for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)]
            # a run has few gates: sorting them is no matter
            assert all("INDEX" in step or ("gates" in text and "ORDER BY" in step) for step in steps), (text, steps)
    assert len(seen) >= 3
    database.close()
