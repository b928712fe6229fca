"""Jobs in the store: submitted once, taken once, ended once, listed without growing with history."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from everloop.store import jobs
from everloop.store.database import Database
from everloop.store.jobs import NewJob
from everloop.store.tables import jobs as table


def new(job_id: str = "", *, request_id: str | None = None, project: str = "p", run: str | None = None) -> NewJob:
    return NewJob(
        job_id or jobs.new_id(), "w", project, "key:p", request_id, "d", "submitted", {}, run, {"parent": None}
    )


def submit(database: Database, n: int = 1, **changes: Any) -> list[str]:
    made = [new(**changes) for _ in range(n)]
    with database.write() as tx:
        assert all(jobs.submit(tx, one) for one in made)
    return [one.job_id for one in made]


def at_once(n: int, use: Any) -> list[Any]:
    """What `n` threads got that began together."""
    gate, found = threading.Barrier(n), []

    def one(number: int) -> None:
        gate.wait()
        found.append(use(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_request_id_is_used_once_in_a_project(database: Database) -> None:
    submit(database, request_id="r")
    with database.write() as tx:
        assert not jobs.submit(tx, new(request_id="r"))
        assert jobs.submit(tx, new(request_id="r", project="q"))
        assert jobs.submit(tx, new()) and jobs.submit(tx, new())
        found = jobs.by_request(tx, "p", "r")
    assert found is not None and found.submitted and found.state == "pending"


def test_a_host_takes_no_more_than_it_keeps_however_many_workers_ask(database: Database) -> None:
    ids = submit(database, 6)

    def take(number: int) -> bool:
        def write() -> bool:
            with database.write() as tx:
                return jobs.take(tx, ids[number], "here", 2)

        return database.retrying(write)

    assert sum(at_once(6, take)) == 2
    with database.write() as tx:
        running = jobs.submitted(tx, "running")
        assert {one.host for one in running} == {"here"} and len(running) == 2
        assert [one.job_id for one in jobs.submitted(tx, "pending")] == [
            one for one in ids if one not in {job.job_id for job in running}
        ]
        assert jobs.take(tx, jobs.submitted(tx, "pending")[0].job_id, "elsewhere", 2)


def test_a_job_is_taken_by_one(database: Database) -> None:
    (job_id,) = submit(database)

    def take(number: int) -> bool:
        def write() -> bool:
            with database.write() as tx:
                return jobs.take(tx, job_id, f"host-{number}", 2)

        return database.retrying(write)

    assert sum(at_once(4, take)) == 1


def test_the_first_ending_stands(database: Database) -> None:
    (job_id,) = submit(database)
    with database.write() as tx:
        assert jobs.end(tx, job_id, "cancelled", among=("pending",))
        assert not jobs.end(tx, job_id, "completed") and not jobs.take(tx, job_id, "here", 2)
        jobs.ask_to_stop(tx, job_id)
        row = jobs.by_id(tx, job_id)
    assert row is not None and (row.state, row.stop_requested) == ("cancelled", False) and row.finished_at


def test_pages_of_one_moment_tell_each_job_once(database: Database) -> None:
    ids = submit(database, 25) + submit(database, 5, project="q")
    with database.write() as tx:
        tx.execute(table.update().values(created_at="2026-01-01T00:00:00.000000Z"))
    found: list[str] = []
    before = None
    with database.read() as tx:
        while rows := jobs.listing(tx, project_id="p", limit=4, before=before):
            found += [one.job_id for one in rows]
            before = (rows[-1].created_at, rows[-1].job_id)
    assert found == sorted(ids[:25], reverse=True)


@pytest.mark.parametrize("status", [None, *jobs.STATUSES])
@pytest.mark.parametrize("run", [None, "r-1"])
def test_a_page_reads_one_range_of_an_index_and_sorts_no_history(
    tmp_path: Path, status: str | None, run: str | None
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'plans.db'}")
    database.migrate()
    seen: list[tuple[str, Any]] = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append((given[2], given[3])))
    with database.read() as tx:
        jobs.listing(tx, project_id="p", limit=26, before=("2026", "job_x"), status=status, run=run)
        query, values = next(one for one in seen if "FROM jobs" in one[0])
        told = " / ".join(str(step[3]) for step in tx.exec_driver_sql("EXPLAIN QUERY PLAN " + query, values))
    database.close()
    assert "USING INDEX" in told and "SCAN" not in told, told
    if status in {"pending", "running", "stopping"}:
        assert "jobs_by_state" in told, told
    if run is None and status in {None, "completed", "failed", "cancelled"}:  # what history is made of
        assert "jobs_of_project" in told and "TEMP B-TREE" not in told, told


def test_what_waits_is_found_without_reading_what_has_ended(database: Database) -> None:
    ended, (waiting,) = submit(database, 300), submit(database)
    with database.write() as tx:
        tx.execute(table.update().where(table.c.job_id.in_(ended)).values(state="completed"))
    with database.read() as tx:
        assert [one.job_id for one in jobs.submitted(tx, "pending")] == [waiting] and jobs.waiting(tx, "p") == 1
        assert jobs.submitted(tx, "running") == [] and jobs.waiting(tx, "q") == 0
        if database.sqlite:
            plan = tx.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT * FROM jobs WHERE state = 'pending' AND run = job_id ORDER BY created_at"
            ).all()
            assert any("jobs_by_state" in str(step[3]) for step in plan)


def test_a_runs_jobs_are_no_submitted_ones(database: Database) -> None:
    with database.write() as tx:
        jobs.put(tx, "r-1", "base-a1", round=0, purpose="base", method="sft", labels={"rsi_run": "r-1"},
                 digest="d", launcher="local", reserved_micros=0)  # fmt: skip
        assert jobs.submitted(tx, "running") == []
        found = jobs.get(tx, "r-1", "base-a1")
        assert found is not None and not found.submitted and jobs.trainers(tx, {"r-1"}) == {}


def test_the_list_of_all_projects_goes_by_id_and_by_its_index(database: Database) -> None:
    ids = submit(database, 7) + submit(database, 6, project="q")
    found: list[str] = []
    before = None
    with database.read() as tx:
        while rows := jobs.listing(tx, project_id=None, limit=4, before=before):
            found += [one.job_id for one in rows]
            before = (rows[-1].created_at, rows[-1].job_id)
        assert found == sorted(ids, reverse=True)
        if database.sqlite:
            plan = tx.exec_driver_sql("EXPLAIN QUERY PLAN SELECT * FROM jobs ORDER BY job_id DESC LIMIT 5").all()
            assert ["jobs_by_id" in str(step[3]) for step in plan] == [True]
