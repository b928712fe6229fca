"""SIGKILL in the middle of paid calls: what was answered is never paid again, and the ledger is the server's count."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from dry import SIZES, add, asked, place, student
from harness import ENDED, carry, decisions, log_of, looks, state, worker
from scripted import Reply, Request, ScriptedServer

from everloop.gateway.base import Use
from everloop.service import run_start, runs
from everloop.service.installation import Installation
from everloop.students.prompt import REPLY_TOKENS

KILLS = {"sqlite": 20, "postgresql": 6}
"""Kills by database; each costs a worker's start."""
OUTPUT_ONLY: dict[str, Any] = {"input_usd_per_mtok": 0.0, "output_usd_per_mtok": 10.0}
"""With input free of charge and every answer as long as it may be, each attempt costs its worst case: 480 micros."""
MICROS = REPLY_TOKENS * 10


class Killer:
    """Answers as the student does, and kills the worker while it waits for planned requests."""

    def __init__(self, every: int, kills: int) -> None:
        self.every, self.left = every, kills
        self.worker: subprocess.Popen[bytes] | None = None
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()

    def __call__(self, request: Request) -> Reply:
        reply = student(request)
        self.asked[request.text] += 1
        if self.left and request.number % self.every == 0:
            self.left -= 1
            return Reply(reply.text, output_tokens=REPLY_TOKENS, input_tokens=0, before=self._kill)
        self.answered[request.text] += 1
        return Reply(reply.text, output_tokens=REPLY_TOKENS, input_tokens=0)

    def _kill(self) -> None:
        assert self.worker is not None
        os.kill(self.worker.pid, signal.SIGKILL)


def tortured(home: Installation, killer: Killer, run: str) -> dict[str, Any]:
    died, planned = 0, killer.left
    while state(home, run) not in ENDED:
        killer.worker = worker(home)
        killer.worker.wait(120)
        died += killer.worker.returncode == -signal.SIGKILL
    assert died == planned, log_of(home)
    return runs.document(home, run, rounds=1000)


def test_killed_in_paid_calls_twenty_times_nothing_is_paid_twice(tmp_path: Path, database_url: str) -> None:
    limits = SIZES | {"model_usd_cap": 5.0}
    kills = KILLS[database_url.partition(":")[0]]
    killer = Killer(every=13, kills=kills)
    with ScriptedServer(killer) as server:
        home = place(tmp_path / "home", server, database_url, worker_lease_seconds=2.0)
        add(home, server, "scripted", Use.STUDENT, concurrency=1, **OUTPUT_ONLY)
        run_start.start(home, asked(rounds=2, limits=limits))
        document = tortured(home, killer, "dry-1")
        seen = len(server.requests)
    assert document["state"] == "finished", log_of(home)
    spend = document["spend"]
    assert spend["student_requests"] == seen
    assert round(spend["model_usd"] * 1_000_000) == seen * MICROS
    again = sum(count - 1 for count in killer.asked.values())
    assert again == kills, "only the requests that were cut off were sent again"
    with ScriptedServer(student) as server:
        quiet = place(tmp_path / "quiet", server)
        undisturbed = carry(quiet, asked(rounds=2, limits=limits))
    assert decisions(document)[:-1] == decisions(undisturbed)[:-1]
    assert looks(home, "dry-1") == looks(quiet, "dry-1")


def test_killed_with_many_calls_under_way_the_ledger_never_shows_less_than_the_server_saw(tmp_path: Path) -> None:
    kills = 6
    killer = Killer(every=80, kills=kills)
    with ScriptedServer(killer) as server:
        home = place(tmp_path, server, worker_lease_seconds=2.0)
        add(home, server, "scripted", Use.STUDENT, concurrency=8, **OUTPUT_ONLY)
        run_start.start(home, asked(rounds=2, limits={"dev_n": 120, "blind_n": 200}))
        document = tortured(home, killer, "dry-1")
        seen = len(server.requests)
    assert document["state"] == "finished", log_of(home)
    counted = document["spend"]["student_requests"]
    assert seen <= counted <= seen + 8 * kills, "at most what was reserved and not yet sent at each kill"
    assert sum(count - 1 for count in killer.asked.values()) <= 8 * kills
