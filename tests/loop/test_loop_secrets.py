"""A key is the gateway's alone: not in logs, events, errors, files, the database or environments of children."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import dry
import pytest
from agents import Strong, candidate, submit, verdict
from harness import ENDED, events, request, state, worker
from scripted import Reply, Request, ScriptedServer

from everloop.gateway.base import KeySource, ModelEntry, Use
from everloop.service import models, run_start, runs
from everloop.service.installation import Installation

KEY = "sk-live-8c1f0a77-not-for-others"
VARIABLE = "SCRIPTED_MODEL_KEY"


def configured(home: Path, server: ScriptedServer, source: KeySource) -> Installation:
    found = dry.installation(home, model_retries=1, synthetic_seconds=0.4)
    entry = ModelEntry(
        name="strong",
        provider="openai",
        model="scripted",
        base_url=server.url,
        key_source=source,
        key_name=VARIABLE if source is KeySource.ENVIRONMENT else "",
        uses=(Use.OPERATOR, Use.AUDITOR),
        input_usd_per_mtok=1.0,
        output_usd_per_mtok=1.0,
    )
    models.add(found, entry, KEY if source is KeySource.FILE else None)
    return found


def plan() -> dict[str, Any]:
    made = candidate()
    del made["prompt"]
    change = made["interventions"][0] | {"target": "data"}
    fields = {"rows_per_family": 40, "replay_share": 0.3, "steps": 50, "batch_size": 32, "learning_rate": 0.001}
    return made | {"interventions": [change], "source": "collected"} | fields


def holders() -> dict[int, str]:
    """Processes whose environment holds the key, apart from this one: pid -> command."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if KEY.encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found[int(entry.name)] = command_of(entry.name)
        except OSError:
            continue
    return found


def command_of(pid: int | str) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def carried(home: Installation, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[int, str], int]:
    """Carry the run while looking into every process; who held the key, and how many trainings were seen.

    Between fork and exec a child still is the worker, its memory, command line and environment with it: the kernel
    offers no way around it. Such a look-alike counts only if it is there at a later look, half a second on.
    """
    monkeypatch.setenv(VARIABLE, KEY)
    process = worker(home, anew=True)
    held: dict[int, str] = {}
    forked: dict[int, float] = {}
    trainings = 0
    deadline = time.monotonic() + 120
    others = set(holders())  # of tests beside this one
    try:
        while state(home, "live-1") not in ENDED:
            assert time.monotonic() < deadline
            seen = {pid: command for pid, command in holders().items() if pid != process.pid and pid not in others}
            itself = command_of(process.pid)
            now = time.monotonic()
            forked = {pid: forked.get(pid, now) for pid, command in seen.items() if command == itself}
            held |= {pid: command for pid, command in seen.items() if now - forked.get(pid, 0.0) > 0.5}
            trainings += any("everloop.students.training" in command for command in commands())
            time.sleep(0.02)
        process.wait(30)
    finally:
        process.kill()
        process.wait()
    return held, trainings


def commands() -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(command_of(entry.parent.name))
        except OSError:
            continue
    return found


def files_with_the_key(home: Path) -> list[str]:
    files = (path for path in home.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(home)) for path in files if KEY.encode() in path.read_bytes())


@pytest.mark.parametrize("source", [KeySource.ENVIRONMENT, KeySource.FILE])
def test_nobody_but_the_gateway_holds_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: KeySource
) -> None:
    strong = Strong([submit(plan())], [verdict()])

    def script(seen: Request) -> Reply:
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        # one failure on the way, so that errors and retries are logged as well
        return Reply(fault="500") if seen.number == 1 else strong(seen)

    with ScriptedServer(script) as server:
        home = configured(tmp_path, server, source)
        options = {"operator": "agent", "trainer": "synthetic-job"}
        run_start.start(home, request("live-1", rounds=1, options=options))
        held, trainings = carried(home, monkeypatch)
    assert state(home, "live-1") == "finished", (tmp_path / "worker.log").read_text()[-2000:]
    assert trainings > 0
    assert held == {}
    assert [Path(name).parent.name for name in files_with_the_key(tmp_path)] == (
        ["keys"] if source is KeySource.FILE else []
    )
    assert KEY not in str(events(home, "live-1")) + str(runs.document(home, "live-1"))


def test_a_refused_key_is_in_no_error_that_anyone_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(lambda _: Reply(fault="401")) as server:
        home = configured(tmp_path, server, KeySource.FILE)
        run_start.start(home, request("live-1", rounds=1, options={"operator": "agent"}))
        carried(home, monkeypatch)
    document = runs.document(home, "live-1")
    assert document["state"] == "paused"
    assert document["error"]["code"] == "MODEL_REFUSED"  # type: ignore[index,call-overload]
    assert KEY not in str(document) + str(events(home, "live-1"))
    assert [Path(name).parent.name for name in files_with_the_key(tmp_path)] == ["keys"]
