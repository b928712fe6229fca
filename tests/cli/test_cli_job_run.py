"""``el job run`` against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from remote_server import RealServer

from everloop.cli.main import el
from everloop.service.keys import KeyKind


def call(server: RealServer, *arguments: str, key: str | None = None, text: str | None = None) -> Result:
    return CliRunner().invoke(el, ["job", "run", *arguments], env=server.environment(key), input=text)


def document(server: RealServer, *arguments: str) -> dict[str, object]:
    result = call(server, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def start(server: RealServer, run: str, *more: str) -> Result:
    return call(server, "start", run, "--brief", "b", "--model-usd-cap", "1", "--domain", "synthetic", *more)


def test_a_run_is_started_listed_and_shown(server: RealServer) -> None:
    begun = start(server, "first", "--rounds", "2")
    assert begun.exit_code == 0, begun.output
    assert begun.stdout.splitlines()[:3] == ["run\tfirst", "state\tstarting", "mode\tlive"]
    listed = call(server, "list").stdout
    assert "first\tstarting\t0/2" in listed
    shown = call(server, "get", "first").stdout
    assert "run\tfirst" in shown and "round\t0/2" in shown and "best version" not in shown
    assert document(server, "get", "first")["brief"] == "b"


def test_options_of_a_start_reach_the_run(server: RealServer, tmp_path: Path) -> None:
    brief = tmp_path / "brief.txt"
    brief.write_text("From a file: 进步\n", encoding="utf-8")
    more = ["--limit", "dev_n=200", "--option", "seed=7", "--option", "gate=greedy", "--stop-patience", "4"]
    cap = ["--model-usd-cap", "1.5", "--usd-cap", "3", "--model-request-cap", "9"]
    result = call(server, "start", "full", "--brief-file", str(brief), *cap, "--domain", "synthetic", *more, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["brief"] == "From a file: 进步\n"
    limits = {name: found["limits"][name] for name in ("model_usd_cap", "usd_cap", "model_request_cap", "dev_n")}
    assert limits == {"model_usd_cap": 1.5, "usd_cap": 3, "model_request_cap": 9, "dev_n": 200}
    assert (found["options"]["seed"], found["options"]["gate"]) == (7, "greedy")
    assert found["stop"] == {"wall_seconds": None, "patience": 4}


def test_a_brief_may_come_from_standard_input(server: RealServer) -> None:
    arguments = ["start", "piped", "--brief-file", "-", "--model-usd-cap", "1", "--domain", "synthetic", "--json"]
    result = call(server, *arguments, text="piped text")
    assert json.loads(result.stdout)["brief"] == "piped text"


@pytest.mark.parametrize(
    "wrong",
    [
        ["start", "x", "--model-usd-cap", "1"],
        ["start", "x", "--brief", "b"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "nothing"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "1", "--limit", "dev_n"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "1", "--limit", "dev_n=inf"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "1", "--limit", "dev_n=1", "--limit", "dev_n=2"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "1", "--student-model", "m"],
        ["start", "x", "--brief", "b", "--model-usd-cap", "1", "--goal", "all"],
        ["start", "Bad_Id", "--brief", "b", "--model-usd-cap", "1"],
        ["live", "x", "--since", "-1"],
        ["extend", "x"],
        ["round", "x", "0"],
        ["steer", "x"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_is_a_usage_error(server: RealServer, wrong: list[str]) -> None:
    assert call(server, *wrong).exit_code == 2


def test_a_goal_is_sent_as_split_and_target(server: RealServer) -> None:
    result = start(server, "goal", "--goal", "nonsense=0.7")
    assert result.exit_code == 1 and result.stderr.startswith("INVALID_RSI_REQUEST: ")
    found = start(server, "goal", "--goal", "all=0.7", "--json")
    assert json.loads(found.stdout)["goal"] == {"split": "all", "target": 0.7}


def test_live_is_the_document_of_the_moment(server: RealServer) -> None:
    server.run("moment", 5)
    found = json.loads(call(server, "live", "moment").stdout)
    assert [event["seq"] for event in found["events"]] == [1, 2, 3, 4, 5, 6]
    later = json.loads(call(server, "live", "moment", "--since", "4").stdout)
    assert [event["seq"] for event in later["events"]] == [5, 6]


def test_an_ended_run_of_450_events_is_printed_whole(server: RealServer) -> None:
    server.run("all-450", 449, "finished")
    lines = call(server, "live", "all-450", "--follow").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines[:-1]] == [str(seq) for seq in range(1, 451)]
    assert lines[1] == "2 message: event 0" and lines[-1] == "state: finished"


def test_following_begins_after_since(server: RealServer) -> None:
    server.run("since", 9, "stopped")
    lines = call(server, "live", "since", "--follow", "--since", "8").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["9", "10", "state:"]


def test_following_as_json_is_a_document_a_line(server: RealServer) -> None:
    server.run("lines", 2, "failed")
    lines = [json.loads(line) for line in call(server, "live", "lines", "--follow", "--json").stdout.splitlines()]
    assert [line["seq"] for line in lines[:-1]] == [1, 2, 3] and lines[-1] == {"state": "failed"}


def test_an_event_is_one_line_that_no_terminal_obeys(server: RealServer) -> None:
    server.run("escape")
    server.happen("escape", 1, "a\x1b[2Jb\nc\u202ed")
    server.end("escape")
    line = call(server, "live", "escape", "--follow").stdout.splitlines()[1]
    assert line == "2 message: a\N{REPLACEMENT CHARACTER}[2Jb c\N{REPLACEMENT CHARACTER}d 0"


def test_a_run_is_steered_directed_extended_and_stopped(server: RealServer) -> None:
    server.run("driven")
    assert document(server, "steer", "driven", "Prefer held-out families.")["status"] == "queued"
    assert document(server, "directive", "driven", "Keep it small.")["text"] == "Keep it small."
    assert document(server, "extend", "driven", "--rounds", "5")["rounds_target"] == 5
    stopped = call(server, "stop", "driven")
    assert "stop_requested\tyes" in stopped.stdout.splitlines()
    assert "Keep it small." in call(server, "get", "driven").stdout


def test_a_stopped_run_is_resumed(server: RealServer) -> None:
    server.run("again", state="stopped")
    found = document(server, "resume", "again")
    assert (found["run"], found["action"], found["state"]) == ("again", "resume", "running")


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["get", "absent"], "RSI_RUN_NOT_FOUND: ", 3),
        (["live", "absent", "--follow"], "RSI_RUN_NOT_FOUND: ", 3),
        (["steer", "done", "text"], "RSI_RUN_NOT_ACTIVE: ", 4),
        (["stop", "done"], "RSI_CONFLICT: ", 4),
        (["steer", "done", " "], "INVALID_STEER: ", 1),
        (["round", "done", "7"], "NOT_FOUND: ", 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals_have_codes_and_exit_codes(
    server: RealServer, arguments: list[str], code: str, exit_code: int
) -> None:
    if call(server, "get", "done").exit_code:
        server.run("done", state="finished")
    if "steer" in arguments and arguments[-1] == " ":
        server.run("blank")
        arguments = ["steer", "blank", " "]
    result = call(server, *arguments)
    assert result.exit_code == exit_code, result.output
    assert result.stderr.startswith(code) and "(HTTP " in result.stderr
    assert result.stdout == ""


def test_a_key_that_only_reads_is_told_so(server: RealServer) -> None:
    server.run("read-only")
    result = call(server, "steer", "read-only", "text", key=server.key(KeyKind.READ_ONLY))
    assert result.exit_code == 1 and result.stderr.startswith("ACCESS_DENIED: This key may not do that. (HTTP 403)\n")


def test_a_key_that_is_not_known_is_told_so(server: RealServer) -> None:
    result = call(server, "list", key="elk_unknown")
    assert result.exit_code == 1 and result.stderr.startswith("UNAUTHORIZED: ")


def process(server: RealServer, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "everloop.cli.main", "job", "run", *arguments],
        env=os.environ | server.environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_ends_following_within_a_second_and_the_run_goes_on(server: RealServer) -> None:
    server.run("interrupted", 3)
    with process(server, "live", "interrupted", "--follow") as following:
        assert following.stdout is not None and following.stderr is not None
        assert [following.stdout.readline().split(" ")[0] for _ in range(4)] == ["1", "2", "3", "4"]
        following.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert following.wait(5) == 130
        assert time.monotonic() - began < 1.0
        assert following.stderr.read() == "Stopped following. The run goes on.\n"
    assert document(server, "get", "interrupted")["state"] == "starting"


def test_ctrl_c_ends_waiting_for_a_server_that_is_away(own_server: RealServer) -> None:
    own_server.run("away")
    with process(own_server, "live", "away", "--follow") as following:
        assert following.stdout is not None and following.stderr is not None
        following.stdout.readline()
        own_server.kill()
        assert "trying again" in following.stderr.readline()
        time.sleep(2.0)
        following.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert following.wait(5) == 130
        assert time.monotonic() - began < 1.0


def test_a_server_killed_while_a_command_follows_costs_no_event(own_server: RealServer) -> None:
    own_server.run("killed", 120)
    with process(own_server, "live", "killed", "--follow") as following:
        assert following.stdout is not None and following.stderr is not None
        told = [following.stdout.readline() for _ in range(121)]
        own_server.kill()
        own_server.happen("killed", 228)
        time.sleep(3.0)
        own_server.start()
        threading.Timer(0.5, lambda: (own_server.happen("killed", 101), own_server.end("killed"))).start()
        told += following.stdout.read().splitlines(keepends=True)
        assert following.wait(20) == 0
        errors = following.stderr.read()
    assert [line.split(" ")[0] for line in told[:-1]] == [str(seq) for seq in range(1, 451)]
    assert told[-1] == "state: finished\n"
    assert errors == "The server does not answer; trying again. Ctrl-C stops this.\n"


def test_a_start_can_be_followed_at_once(own_server: RealServer) -> None:
    arguments = ["start", "followed", "--brief", "b", "--model-usd-cap", "1", "--domain", "synthetic", "--follow"]
    with process(own_server, *arguments) as following:
        assert following.stdout is not None
        assert following.stdout.readline().startswith("1 message: run followed requested by key:")
        own_server.end("followed", "stopped")
        assert following.stdout.read().splitlines()[-1] == "state: stopped"
        assert following.wait(10) == 0
