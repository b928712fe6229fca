"""SIGKILL at every phase boundary, of workers and of trainings; SIGSTOP; a database that restarts.

Each configuration takes one third of the boundaries, so that together every phase is killed at its beginning, with its
result not yet committed, and with its result committed but not yet journalled by the engine.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import decisions, events, installation, log_of, looks, request, state, wait_for, worker
from torture import EDGES, PHASES, SECONDS, Torture, asked

from everloop.errors import StaleWorker
from everloop.service import run_control, run_start, runs
from everloop.store import workers as lives

_VARYING = re.compile(r"after [\d.]+ s|-a\d+")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same run with nothing in its way: what it decided and told."""
    torture = Torture(tmp_path_factory.mktemp("undisturbed"), "", [])
    document = torture.run("t", workers=1, child_kills=0, seed=0)
    assert document["state"] == "finished"
    assert document["best_version"] != "v0", "the reference must certify something, or certify is not tortured"
    seen = looks(torture.place, "t")
    assert len(seen) > len({look[1] for look in seen}), "a comparison must take several looks, or they are not tortured"
    return {"decisions": decisions(document), "events": told(torture.place), "looks": seen, "document": document}


def told(place: Any) -> list[str]:
    """Event texts, without durations, attempts, and the starts and losses of jobs: a killed training has more."""
    texts = [event["text"] for event in events(place, "t")]
    return sorted(_VARYING.sub("", text) for text in texts if not re.match(r"job .* (started:|lost after)", text))


@pytest.mark.parametrize(
    ("kind", "workers", "edge", "child_kills"),
    [
        ("sqlite", 1, "begin", 1),
        ("sqlite", 2, "worked", 1),
        ("postgresql", 1, "committed", 1),
        ("postgresql", 2, "random", 2),
    ],
)
def test_killed_at_every_boundary_it_decides_as_if_undisturbed(
    tmp_path: Path, undisturbed: dict[str, Any], postgres: Any, kind: str, workers: int, edge: str, child_kills: int
) -> None:
    url = postgres.fresh() if kind == "postgresql" else ""
    edges = {phase: EDGES[place % 3] if edge == "random" else edge for place, phase in enumerate(PHASES)}
    torture = Torture(tmp_path, url, list(edges.items()))
    document = torture.run("t", workers=workers, child_kills=child_kills, seed=workers)
    assert torture.left() == [], "planned kills that never landed"
    assert torture.landed == len(PHASES)
    assert torture.child_kills == child_kills
    assert document["state"] == "finished", document["error"]
    assert decisions(document) == undisturbed["decisions"]
    check_events(torture.place, undisturbed)
    assert looks(torture.place, "t") == undisturbed["looks"]
    check_jobs(tmp_path)


def check_events(place: Any, undisturbed: dict[str, Any]) -> None:
    """None lost, none doubled, none out of order."""
    found = events(place, "t")
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert Counter(told(place)) == Counter(undisturbed["events"])


def check_jobs(home: Path) -> None:
    """Each job id was started once: one keeper claim, and one end."""
    folders = sorted((home / "runs" / "t" / "jobs").iterdir())
    assert folders
    for folder in folders:
        assert (folder / "keeper").exists()
        assert (folder / "rc").exists(), folder.name
        log = (folder / "job.log").read_text()
        assert log.count("checkpoint ") <= 1, f"{folder.name} trained twice: {log}"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_stopped_worker_is_fenced_and_its_late_writes_are_refused(
    tmp_path: Path, undisturbed: dict[str, Any], postgres: Any, kind: str
) -> None:
    place = Torture(tmp_path, postgres.fresh() if kind == "postgresql" else "", []).place
    run_start.start(place, asked("t"))
    first = worker(place, drain=False)
    second = None
    try:
        while not any(event["kind"] == "job" and event["round"] == 1 for event in events(place, "t")):
            assert first.poll() is None, log_of(place)
            time.sleep(0.02)
        stopped_at = stop_outside_a_transaction(place, first)
        before = runs.live(place, "t")["next_cursor"]
        second = worker(place, drain=False)
        while runs.live(place, "t")["next_cursor"] == before:
            assert time.monotonic() - stopped_at < 10, f"not taken over within 10 s: {log_of(place)}"
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait(15) == 70
        assert "was fenced off" in log_of(place) or "may not write" in log_of(place)
        wait_for(place, "t", {"finished"}, SECONDS)
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait()
    assert decisions(runs.document(place, "t", rounds=1000)) == undisturbed["decisions"]
    check_events(place, undisturbed)
    assert looks(place, "t") == undisturbed["looks"]


def stop_outside_a_transaction(place: Any, process: Any) -> float:
    """SIGSTOP; on SQLite not while it holds the database, which nobody could take from a stopped process."""
    while True:
        os.kill(process.pid, signal.SIGSTOP)
        if not place.database.sqlite or _is_free(place.home.root / "everloop.db"):
            return time.monotonic()
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.01)


def _is_free(path: Path) -> bool:
    other = sqlite3.connect(path, isolation_level=None, timeout=0.05)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    else:
        return True
    finally:
        other.close()


def test_a_stale_workers_write_is_refused(tmp_path: Path) -> None:
    place = installation(tmp_path)
    with place.database.write() as tx:
        epoch = lives.register(tx, "here", 1)
    with place.database.write(worker=epoch) as tx:
        assert lives.fence(tx, epoch, None)
    with pytest.raises(StaleWorker, match="may not write"), place.database.write(worker=epoch):
        pass


@pytest.mark.parametrize("edge", ["worked", "committed"])
def test_a_worker_killed_while_it_pauses_a_run_leaves_it_paused(tmp_path: Path, edge: str) -> None:
    """What failed may succeed when it is worked again; a run that was paused must stay so until it is resumed."""
    torture = Torture(tmp_path, "", [("left", edge)])
    place = torture.place
    fault = tmp_path / "FAULT"
    fault.write_text("mute-all")
    run_start.start(
        place, request("t", rounds=1, options={"trainer": "synthetic-faulty", "launcher": "local-with-plugins"})
    )
    first = torture.spawn()
    assert first.wait(60) == -signal.SIGKILL
    if edge == "committed":
        fault.unlink()
        second = torture.spawn()
        time.sleep(4)
        assert state(place, "t") == "paused"
        run_control.resume(place, "t")
    else:
        second = torture.spawn()
        wait_for(place, "t", {"paused"})
        fault.unlink()
        run_control.resume(place, "t")
    try:
        wait_for(place, "t", {"finished"})
    finally:
        second.kill()
        second.wait()
    assert len([event for event in events(place, "t") if event["phase"] == "final"]) == 1


def test_a_worker_that_dies_for_good_is_replaced_within_ten_seconds(tmp_path: Path) -> None:
    place = installation(tmp_path)
    run_start.start(place, request("t", rounds=1000, options={"operator": "useless"}, stop={"wall_seconds": 60}))
    first = worker(place, drain=False)
    try:
        while runs.live(place, "t")["round"] < 1:
            time.sleep(0.02)
        second = worker(place, drain=False)
        time.sleep(2)
    finally:
        first.kill()
        first.wait()
    killed, seen = time.monotonic(), runs.live(place, "t")["next_cursor"]
    try:
        while runs.live(place, "t")["next_cursor"] == seen:
            assert time.monotonic() - killed < 10, log_of(place)
            time.sleep(0.05)
    finally:
        second.kill()
        second.wait()


def test_a_postgresql_restart_costs_nothing(tmp_path: Path, undisturbed: dict[str, Any], postgres: Any) -> None:
    torture = Torture(tmp_path, postgres.fresh(), [])
    place = torture.place
    run_start.start(place, asked("t"))
    process = worker(place, drain=False)
    try:
        wait_for(place, "t", {"running"})
        while runs.live(place, "t")["round"] < 1:
            time.sleep(0.02)
        restarting = threading.Thread(target=postgres.restart)
        restarting.start()
        restarting.join()
        deadline = time.monotonic() + SECONDS
        while _state(place) != "finished":
            assert time.monotonic() < deadline, log_of(place)
            assert process.poll() is None, log_of(place)
            time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
    assert decisions(runs.document(place, "t", rounds=1000)) == undisturbed["decisions"]
    assert looks(place, "t") == undisturbed["looks"]


def _state(place: Any) -> str:
    return str(place.database.retrying(lambda: state(place, "t")))
