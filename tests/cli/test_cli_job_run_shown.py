"""What is shown of a run: why it ended, what it used of its caps, what comes next."""

from __future__ import annotations

import os
import sys

import pexpect
import pytest
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli import job_run_shown
from everloop.cli.main import el
from everloop.client import RemoteError
from everloop.events import Event, EventKind, Json
from everloop.store import events


def call(server: RealServer, *arguments: str, key: str | None = None, text: str | None = None) -> Result:
    return CliRunner().invoke(el, ["job", "run", *arguments], env=server.environment(key), input=text)


def start(server: RealServer, run: str, *more: str) -> Result:
    return call(server, "start", run, "--brief", "b", "--model-usd-cap", "1", "--domain", "synthetic", *more)


@pytest.mark.parametrize(
    ("kind", "state"), [(EventKind.ROUND, "stopped"), (EventKind.ERROR, "paused"), (EventKind.ERROR, "failed")]
)
def test_a_run_that_ended_says_why(server: RealServer, kind: EventKind, state: str) -> None:
    run = f"why-{kind}-{state}"
    server.run(run, 3)
    with server.installation.database.write() as tx:
        events.append(tx, run, Event(kind, f"run {run} {state}: CAP_REACHED: a cap", data={"state": state}))
        events.append(tx, run, Event(EventKind.MESSAGE, "later"))
    server.end(run, state)
    lines = call(server, "get", run).stdout.splitlines()
    assert f"reason\trun {run} {state}: CAP_REACHED: a cap" in lines
    assert "model_spent\t$0.00 of $1.00" in lines and "model_requests\t0" in lines


def test_what_was_used_stands_beside_its_cap(server: RealServer) -> None:
    start(server, "caps", "--usd-cap", "3", "--model-request-cap", "9", "--limit", "request_cap=20")
    lines = call(server, "get", "caps").stdout.splitlines()
    for line in ("spent\t$0.00 of $3.00", "model_requests\t0 of 9", "requests\t0 of 20"):
        assert line in lines
    assert not [line for line in lines if line.startswith("reason")]


def test_an_extension_says_the_old_and_the_new_target(server: RealServer) -> None:
    start(server, "longer", "--rounds", "2")
    assert call(server, "extend", "longer", "--rounds", "5").stderr == "Target: 2 rounds before, 5 now.\n"


def test_a_terminal_gets_a_summary_and_the_last_ten_events(server: RealServer) -> None:
    server.run("glance", 20)
    environment = {**os.environ, **server.environment(), "TERM": "dumb", "COLUMNS": "120"}
    argv = ["-m", "everloop.cli.main", "job", "run", "live", "glance"]
    child = pexpect.spawn(sys.executable, argv, env=environment, encoding="utf-8", timeout=60, dimensions=(24, 120))
    child.expect(pexpect.EOF)
    child.close()
    lines = str(child.before).splitlines()
    assert lines[0].split() == ["run", "glance"] and lines[1].split() == ["state", "starting"]
    assert [line for line in lines if ": event " in line] == [
        f"{seq} message: event {seq - 2}" for seq in range(12, 22)
    ]


def test_a_start_says_how_to_follow_it(server: RealServer) -> None:
    assert start(server, "next").stderr == "Follow it: el job run live next --follow\n"


def test_a_run_that_waits_for_a_person_says_so() -> None:
    approvals: Json = {"run": "r", "state": "paused", "approvals": [{"state": "pending"}]}
    assert job_run_shown.reason(approvals, dict) == "a person is to decide: see `el approve list`"


def test_without_events_the_error_is_the_reason() -> None:
    def refused() -> Json:
        raise RemoteError("too many", http=429)

    failed: Json = {"run": "r", "state": "failed", "error": {"code": "CAP_REACHED", "message": "a cap"}}
    assert job_run_shown.reason(failed, refused) == "CAP_REACHED: a cap"
