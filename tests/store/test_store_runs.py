"""The store on both databases: rows, events, journal, fencing, migration, plans of queries."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
import sqlalchemy as sa
from postgres_server import PostgresServer

from everloop.errors import Conflict, RunNotFound, StaleWorker, StoreUnavailable
from everloop.events import Event, EventKind
from everloop.store import events, itemsets, looks, phases, rounds, runs, steers, workers
from everloop.store.database import Database
from everloop.store.runs import NewRun, Wanted


def new(run: str = "r") -> NewRun:
    return NewRun(
        run=run,
        kind="model",
        group="model",
        level="work",
        domain="arith",
        mode="live",
        rounds_target=3,
        brief="b",
        owner={"subject": "x"},
        seed=1,
        limits={},
        goal=None,
        stop={},
        options={},
        protocol={},
        protocol_sha256="0",
        worst_case_usd=None,
        machine=None,
    )


@pytest.fixture
def run(database: Database) -> str:
    with database.write() as tx:
        runs.create(tx, new())
    return "r"


def said(text: str) -> Event:
    return Event(EventKind.MESSAGE, text, data={"deep": [1, None, {"a": True}]})


def test_a_run_is_read_back(database: Database, run: str) -> None:
    with database.read() as tx:
        row = runs.require(tx, run)
        assert (row.state, row.owner, row.error, row.last_seq) == ("starting", {"subject": "x"}, None, 0)
        with pytest.raises(RunNotFound):
            runs.require(tx, "none")


def test_a_run_id_is_used_once(database: Database, run: str) -> None:
    with pytest.raises(Conflict), database.write() as tx:
        runs.create(tx, new())


def test_pages_of_runs_follow_each_other(database: Database) -> None:
    with database.write() as tx:
        for number in range(5):
            runs.create(tx, new(f"r{number}"))
    with database.read() as tx:
        first = runs.listing(tx, Wanted(limit=2))
        rest = runs.listing(tx, Wanted(before=(first[-1].updated_at, first[-1].run)))
    assert [row.run for row in first + rest] == ["r4", "r3", "r2", "r1", "r0"]


def test_events_are_numbered_without_gaps_under_concurrency(database: Database, run: str) -> None:
    def write() -> None:
        for _ in range(20):
            database.retrying(append)

    def append() -> None:
        with database.write() as tx:
            events.append(tx, run, said("one"), said("two"))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as tx:
        assert [found.seq for found in events.since(tx, run, 0, 1000)] == list(range(1, 161))
        assert [found.seq for found in events.newest(tx, run, 3)] == [158, 159, 160]
        assert events.since(tx, run, 159)[0].event == said("two")


def test_an_aborted_transaction_leaves_no_gap(database: Database, run: str) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as tx:  # noqa: PT012 - the abort is the point
        events.append(tx, run, said("lost"))
        raise ZeroDivisionError
    with database.write() as tx:
        assert events.append(tx, run, said("kept")) == 1


@pytest.mark.parametrize("change", ["UPDATE events SET text = 'x'", "DELETE FROM events"])
def test_events_are_append_only(database: Database, run: str, change: str) -> None:
    with database.write() as tx:
        events.append(tx, run, said("stays"))
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), database.write() as tx:
        tx.execute(sa.text(change))
    with database.read() as tx:
        assert events.newest(tx, run)[0].event.text == "stays"


@pytest.mark.parametrize("first", [{}, {"a": 1}])
def test_the_first_result_of_a_phase_stands(database: Database, run: str, first: dict[str, int]) -> None:
    with database.write() as tx:
        assert phases.add(tx, run, 1, "build", "", first)
        assert not phases.add(tx, run, 1, "build", "", {"b": 2})
    with database.read() as tx:
        assert phases.get(tx, run, 1, "build") == first
        assert phases.get(tx, run, 1, "measure") is None


def test_cursors_never_go_back(database: Database, run: str) -> None:
    with database.write() as tx:
        itemsets.advance(tx, run, "dev", {"add": 5, "mul": 3})
        itemsets.advance(tx, run, "dev", {"add": 2, "mul": 9})
        assert itemsets.cursors(tx, run, "dev") == {"add": 5, "mul": 9}


def test_a_steer_is_delivered_once(database: Database, run: str) -> None:
    with database.write() as tx:
        row = steers.queue(tx, run, "more carries", "me")
        steers.mark_delivered(tx, run, [row.id], 2)
        steers.mark_delivered(tx, run, [row.id], 3)
        assert [(found.status, found.round) for found in steers.listing(tx, run)] == [("delivered", 2)]
        assert steers.queued(tx, run) == []


def test_a_fenced_worker_may_not_write(database: Database, run: str) -> None:
    with database.write() as tx:
        old, young = workers.register(tx, "h", 1), workers.register(tx, "h", 2)
        assert young > old
        assert workers.fence(tx, old, None) and not workers.fence(tx, old, None)
        assert not workers.heartbeat(tx, old) and workers.heartbeat(tx, young)
    with pytest.raises(StaleWorker), database.write(worker=old) as tx:
        events.append(tx, run, said("too late"))
    with database.write(worker=young) as tx:
        assert events.append(tx, run, said("first")) == 1


def test_a_worker_that_lives_is_not_fenced(database: Database) -> None:
    with database.write() as tx:
        worker = workers.register(tx, "h", 1)
        seen = workers.live(tx)[0].heartbeat
    time.sleep(0.002)
    with database.write() as tx:
        assert workers.heartbeat(tx, worker)
    with database.write() as tx:
        assert not workers.fence(tx, worker, seen)


def test_fencing_waits_for_a_write_in_progress(database: Database, run: str) -> None:
    with database.write() as tx:
        worker = workers.register(tx, "h", 1)
    order: list[str] = []

    def fence() -> None:
        with database.write() as tx:
            assert workers.fence(tx, worker, None)
            order.append("fenced")

    with database.write(worker=worker) as tx:
        thread = threading.Thread(target=fence)
        thread.start()
        time.sleep(0.3)
        events.append(tx, run, said("in time"))
        order.append("written")
    thread.join()
    assert order == ["written", "fenced"]


def test_readers_do_not_wait_for_a_writer(database: Database, run: str) -> None:
    with database.write() as writing:
        events.append(writing, run, said("unseen"))
        started = time.monotonic()
        with database.read() as tx:
            assert events.newest(tx, run) == []
        assert time.monotonic() - started < 5


def test_processes_may_migrate_at_once(empty_database_url: str) -> None:
    code = "import sys; from everloop.store.database import Database; Database(sys.argv[1]).migrate()"
    several = [subprocess.Popen([sys.executable, "-c", code, empty_database_url]) for _ in range(3)]
    assert [process.wait(60) for process in several] == [0, 0, 0]
    opened = Database(empty_database_url)
    with opened.write() as tx:
        runs.create(tx, new())
    opened.close()


def test_the_schema_is_what_the_migrations_make(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    from everloop.store.tables import metadata

    with database.read() as tx:
        assert compare_metadata(MigrationContext.configure(tx), metadata) == []


def test_the_newest_revision_by_name_is_the_head_of_the_migrations() -> None:
    from alembic.script import ScriptDirectory

    from everloop.store import migrating

    assert migrating.newest() == ScriptDirectory.from_config(migrating.configuration()).get_current_head()


def test_live_queries_read_one_index_range(tmp_path: object) -> None:
    opened = Database(f"sqlite:///{tmp_path}/plans.db")
    opened.migrate()
    seen: list[tuple[str, object]] = []
    sa.event.listen(opened.engine, "after_cursor_execute", lambda c, u, text, given, *_: seen.append((text, given)))
    with opened.read() as tx:
        events.since(tx, "r", 5), events.newest(tx, "r"), rounds.newest(tx, "r"), rounds.total(tx, "r")
        runs.listing(tx, Wanted()), runs.active_count(tx), workers.live(tx), phases.get(tx, "r", 1, "build")
        looks.newest(tx, "r"), looks.of_candidate(tx, "r", "r1c1"), phases.opened(tx, "r", 1)
        for text, given in [pair for pair in seen if pair[0].startswith("SELECT")]:
            plan = [row[3] for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)]
            assert all("USING" in step and "INDEX" in step and "TEMP B-TREE" not in step for step in plan), (text, plan)
    assert len(seen) > 11
    opened.close()


def test_the_runs_of_a_group_of_a_project_are_one_index_range(tmp_path: object) -> None:
    opened = Database(f"sqlite:///{tmp_path}/plans.db")
    opened.migrate()
    seen: list[tuple[str, object]] = []
    sa.event.listen(opened.engine, "after_cursor_execute", lambda c, u, text, given, *_: seen.append((text, given)))
    with opened.read() as tx:
        runs.listing(tx, Wanted(project_id="p", group="model", before=("2026", "r")))
        ((text, given),) = [pair for pair in seen if pair[0].startswith("SELECT")]
        plan = [row[3] for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)]
    assert any("runs_of_group (project_id=? AND group=?" in step for step in plan), plan
    assert not any(step.startswith("SCAN runs") for step in plan), plan
    opened.close()


def test_a_restart_of_the_server_is_waited_out(postgres: PostgresServer) -> None:
    opened = Database(url := postgres.fresh())
    opened.migrate()
    with opened.write() as tx:
        runs.create(tx, new())
    postgres.stop()
    starting = threading.Timer(1.0, postgres.start)
    starting.start()

    def append() -> int:
        with opened.write() as tx:
            return events.append(tx, "r", said("after"))

    try:
        assert opened.retrying(append) == 1
    finally:
        starting.join()
    opened.close()
    postgres.drop(url)


def test_a_dead_database_is_an_error_without_its_password() -> None:
    opened = Database("postgresql://me:geheim@127.0.0.1:1/x?password=geheim", patience=0.2)
    with pytest.raises(StoreUnavailable) as raised:
        opened.migrate()
    assert "geheim" not in str(raised.value) and "el doctor" in str(raised.value)
    opened.close()
