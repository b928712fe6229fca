"""Runs real workers on real runs of the synthetic student, and reads what they left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import forked
import sqlalchemy as sa

from everloop.service import run_start, runs
from everloop.service.installation import Installation, open_installation
from everloop.service.request import StartRequest
from everloop.settings import Settings
from everloop.store.tables import looks as table

ENDED = {"finished", "failed", "stopped", "paused"}
OPEN: list[Installation] = []
"""Installations the present test has opened; closed when it ends."""
BASE = {"diag_per_family": 16, "dev_n": 200, "admission_n": 40, "blind_n": 400, "collect_tasks": 60}


def request(run: str = "t-1", **changes: Any) -> StartRequest:
    limits = {"model_usd_cap": 1.0} | BASE | changes.pop("limits", {})
    options = {"seed": 1} | changes.pop("options", {})
    document = {"run": run, "brief": "Improve.", "domain": "synthetic", "rounds": 2}
    return StartRequest.from_json(document | {"limits": limits, "options": options} | changes)


def installation(home: Path, url: str = "", **settings: Any) -> Installation:
    OPEN.append(open_installation(Settings(home=home, database_url=url, **settings)))
    return OPEN[-1]


def environment(place: Installation, **more: str) -> dict[str, str]:
    settings = place.settings
    values = {f"EVERLOOP_{name.upper()}": str(getattr(settings, name)) for name in type(settings).model_fields}
    return dict(os.environ) | values | more


def worker(
    place: Installation, *argv: str, drain: bool = True, preexec_fn: Any = None, anew: bool = False, **env: str
) -> subprocess.Popen[bytes] | forked.Forked:
    """A worker process. `anew`: an interpreter that starts from nothing, for tests of what a process holds."""
    words = [*(argv or forked.WORKER), *(["--drain"] if drain else [])]
    with (place.home.root / "worker.log").open("ab") as log:
        if preexec_fn is None and not anew:
            return forked.start(words, environment(place, **env), log)
        command = [sys.executable, *words]
        return subprocess.Popen(command, env=environment(place, **env), stdout=log, stderr=log, preexec_fn=preexec_fn)


def state(place: Installation, run: str) -> str:
    return str(runs.live(place, run, since=10**9)["state"])


def finish(place: Installation, run: str, *, seconds: float = 120, **env: str) -> dict[str, Any]:
    """Let one worker carry the run to where it stops, and return its document."""
    process = worker(place, **env)
    try:
        process.wait(seconds)
    finally:
        process.kill()
        process.wait()
    document = runs.document(place, run, rounds=1000)
    assert document["state"] in ENDED, log_of(place)
    return document


def carry(place: Installation, asked: StartRequest, *, seconds: float = 120, **env: str) -> dict[str, Any]:
    run_start.start(place, asked)
    return finish(place, asked.run, seconds=seconds, **env)


def wait_for(place: Installation, run: str, wanted: set[str], seconds: float = 120) -> str:
    deadline = time.monotonic() + seconds
    while (now := state(place, run)) not in wanted:
        assert time.monotonic() < deadline, f"{run} is still {now}: {log_of(place)}"
        time.sleep(0.1)
    return now


def log_of(place: Installation) -> str:
    path = place.home.root / "worker.log"
    return path.read_text()[-4000:] if path.exists() else "no worker log"


def events(place: Installation, run: str) -> list[dict[str, Any]]:
    """Every event of a run, page by page."""
    found: list[dict[str, Any]] = []
    while page := runs.live(place, run, since=len(found))["events"]:
        found += page
    return found


def looks(place: Installation, run: str) -> list[tuple[Any, ...]]:
    """Every look of every comparison of a run; no times."""
    with place.database.read() as tx:
        query = sa.select(table).where(table.c.run == run).order_by(table.c.candidate, table.c.pairs)
        return [tuple(value for name, value in one.items() if name != "at") for one in tx.execute(query).mappings()]


def decisions(document: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Everything a run decided, and on what figures; no times, no paths."""
    made: list[tuple[Any, ...]] = []
    for one in document["rounds"]:
        made.append((one["round"], one["decision"], one["version"]))
        for candidate in one["candidates"]:
            certification = candidate["certification"] or {}
            artifact = candidate["artifact"] or {}
            figures = (candidate["screen"], certification, artifact.get("sha256"), candidate["reasons"])
            made.append((candidate["candidate"], candidate["decision"], *figures))
    for gate in document["gates"]:
        made.append(tuple((key, value) for key, value in gate.items() if key != "at"))
    made.append((document["best_version"], document["state"], document["spend"]))
    return made
