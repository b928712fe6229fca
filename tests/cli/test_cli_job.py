"""``el job`` and ``el checkpoint``: a real job from submit to its weights, and servers that misbehave."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from remote_server import Answer, Asked, RealServer, StandIn

from everloop.cli.main import el
from everloop.events import Json

Make = Callable[[Callable[[Asked], Answer]], StandIn]
ROWS = [{"family": "add3", "prompt": f"{n}+1=", "completion": str(n + 1)} for n in range(20)]
SPEC: Json = {"base_model": "nano", "rows": [dict(row) for row in ROWS], "steps": 3, "labels": {"rsi_run": "mine"}}


def call(environment: dict[str, str], *arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(el, arguments, env=environment, input=text)


def submitted(server: RealServer, *more: str, document: object = SPEC) -> Result:
    return call(server.environment(), "job", "submit", "--file", "-", *more, text=json.dumps(document))


def test_a_job_is_submitted_carried_out_read_and_its_checkpoint_fetched(own_server: RealServer, tmp_path: Path) -> None:
    environment = own_server.environment()
    made = json.loads(submitted(own_server, "--json").stdout)
    job_id = str(made["job_id"])
    assert made["status"] == "pending"
    worker = [sys.executable, "-m", "everloop.cli.main", "worker", "--drain"]
    subprocess.run(worker, env=os.environ | {"EVERLOOP_HOME": str(own_server.home)}, check=True, timeout=120)
    assert json.loads(call(environment, "job", "get", job_id).stdout)["status"] == "completed"
    assert json.loads(call(environment, "job", "result", job_id).stdout)["job_id"] == job_id
    assert call(environment, "job", "list", "--status", "completed").stdout.split("\t")[:4] == [
        job_id,
        "train",
        "completed",
        "mine",
    ]
    whole = call(environment, "job", "log", job_id, "--follow")
    assert whole.exit_code == 0 and whole.stdout == call(environment, "job", "log", job_id, "--tail", "1000").stdout
    listed = call(environment, "checkpoint", "list", "--job-id", job_id).stdout.rstrip("\n").split("\t")
    assert listed[3] == job_id and listed[4].startswith(f"envloop://{job_id}/")
    fetched = call(environment, "checkpoint", "download", listed[4], str(tmp_path / "weights"))
    assert fetched.exit_code == 0, fetched.output
    files = [Path(line) for line in fetched.stdout.splitlines()]
    assert len(files) == 2 and all(path.parent == tmp_path / "weights" for path in files)
    again = call(environment, "checkpoint", "download", listed[0], str(tmp_path / "weights"))
    assert again.exit_code == 1 and "Name a new folder" in again.stderr


def test_a_pending_job_is_stopped(server: RealServer) -> None:
    job_id = str(json.loads(submitted(server, "--json").stdout)["job_id"])
    assert json.loads(call(server.environment(), "job", "stop", job_id).stdout)["job_id"] == job_id


def test_the_same_request_id_is_the_same_job_and_another_request_a_conflict(server: RealServer) -> None:
    first, again = (submitted(server, "--request-id", "one", "--json") for _ in range(2))
    assert json.loads(first.stdout)["job_id"] == json.loads(again.stdout)["job_id"]
    other = submitted(server, "--request-id", "one", document=SPEC | {"steps": 4})
    assert other.exit_code == 4 and other.stderr.startswith("TRAIN_JOB_IDEMPOTENCY_CONFLICT: ")


def test_two_submits_of_one_file_are_two_jobs(server: RealServer) -> None:
    first, second = (json.loads(submitted(server, "--json").stdout)["job_id"] for _ in range(2))
    assert first != second


def test_more_jobs_than_a_page_are_all_listed(server: RealServer) -> None:
    made = {json.loads(submitted(server, "--json").stdout)["job_id"] for _ in range(3)}
    listed = json.loads(call(server.environment(), "job", "list", "--json").stdout)
    assert made <= {one["job_id"] for one in listed["items"]} and listed["next_cursor"] is None
    page = call(server.environment(), "job", "list", "--limit", "2")
    assert len(page.stdout.splitlines()) == 2 and page.stderr.startswith("There are more: --cursor ")
    cursor = page.stderr.split()[-1]
    following = call(server.environment(), "job", "list", "--limit", "2", "--cursor", cursor)
    assert not set(page.stdout.splitlines()) & set(following.stdout.splitlines())


@pytest.mark.parametrize(
    ("document", "code"),
    [({"base_model": "none", "rows": []}, "INVALID_TRAIN_JOB_SPEC"), ({"spec": {}}, "INVALID_TRAIN_JOB_SPEC")],
    ids=str,
)
def test_a_job_that_cannot_be_carried_out_is_refused(document: Json, code: str, server: RealServer) -> None:
    result = submitted(server, document=document)
    assert result.exit_code == 1 and result.stderr.startswith(f"{code}: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "1"])
def test_a_file_without_an_object_is_a_usage_error(text: str) -> None:
    assert call({}, "job", "submit", "--file", "-", text=text).exit_code == 2


@pytest.mark.parametrize("arguments", [["get", "job_x"], ["result", "job_x"], ["log", "job_x"], ["stop", "job_x"]])
def test_an_unknown_job_is_exit_code_3(arguments: list[str], server: RealServer) -> None:
    result = call(server.environment(), "job", *arguments)
    assert result.exit_code == 3 and result.stderr.startswith("JOB_NOT_FOUND: ")


def test_waiting_ends_with_the_job_and_its_failure_is_exit_code_1(stand_in: Make) -> None:
    def answer(asked: Asked) -> Answer:
        looks = sum(one.method == "GET" for one in served.asked)
        status = "failed" if looks > 2 else "pending"
        if looks == 1:
            return 503, {"code": "SERVICE_UNAVAILABLE", "message": "m"}, {}
        return 200, {"job_id": "j", "status": status, "type": "train"}, {}

    served = stand_in(answer)
    arguments = ["job", "submit", "--file", "-", "--wait", "--json"]
    result = call({"EVERLOOP_BASE_URL": served.url}, *arguments, text=json.dumps(SPEC))
    assert result.exit_code == 1 and json.loads(result.stdout)["status"] == "failed"
    asked = served.asked[0].json
    assert asked["type"] == "train" and asked["spec"] == SPEC and str(asked["request_id"]).startswith("el-")


def test_waiting_ends_after_its_time(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, {"job_id": "j", "status": "running"}, {}))
    arguments = ["job", "submit", "--file", "-", "--wait", "--timeout-sec", "0.2"]
    result = call({"EVERLOOP_BASE_URL": served.url}, *arguments, text=json.dumps(SPEC))
    assert result.exit_code == 1 and "status\trunning" in result.stdout


@pytest.mark.parametrize(
    ("status", "more", "told"),
    [
        ("pending", (), "Follow it: el job log j --follow\n"),
        ("completed", ("--wait",), "Its checkpoint: p://j/1. Fetch it: el checkpoint download p://j/1 DIRECTORY\n"),
        ("failed", ("--wait",), "See why: el job log j\n"),
    ],
)
def test_a_submit_says_what_comes_next(status: str, more: tuple[str, ...], told: str, stand_in: Make) -> None:
    job = {"job_id": "j", "status": status, "checkpoint": {"tinker_path": "p://j/1"}}
    served = stand_in(lambda _: (200, job, {}))
    result = call({"EVERLOOP_BASE_URL": served.url}, "job", "submit", "--file", "-", *more, text=json.dumps(SPEC))
    assert result.stderr == told


PAGES = [
    {"items": [{"id": "1", "content": "one"}], "next_cursor": "a", "has_more": True, "eof": False},
    {"items": [], "next_cursor": "a", "has_more": False, "eof": False},
    {"items": [{"id": "2", "content": "two\n\x1b[2Jthree"}], "next_cursor": "b", "has_more": False, "eof": True},
]


def test_a_log_is_followed_over_failures_to_its_end(stand_in: Make) -> None:
    answers: list[Answer] = [(200, PAGES[0], {}), (503, {}, {"Retry-After": "0"}), (429, {}, {"Retry-After": "0"})]
    answers += [(200, page, {}) for page in PAGES[1:]]
    served = stand_in(lambda _: answers[len(served.asked) - 1])
    result = call({"EVERLOOP_BASE_URL": served.url}, "job", "log", "j", "--follow", "--tail", "5")
    assert result.exit_code == 0
    assert result.stdout == "one\ntwo\n\N{REPLACEMENT CHARACTER}[2Jthree\n"
    cursors = [asked.path.partition("?")[2] for asked in served.asked]
    assert cursors == ["tail=5&limit=1000", *["limit=1000&cursor=a"] * 4]


def test_ctrl_c_ends_following_a_log_with_130(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, PAGES[1] | {"items": [{"id": "1", "content": "line"}]}, {}))
    argv = [sys.executable, "-m", "everloop.cli.main", "job", "log", "j", "--follow", "--json"]
    environment = os.environ | {"EVERLOOP_BASE_URL": served.url, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert json.loads(child.stdout.readline())["items"][0]["content"] == "line"
        child.send_signal(signal.SIGINT)
        assert child.wait(5) == 130
        assert child.stderr.read() == "Stopped following. The job goes on.\n"


BYTES = b"weights"
FILE: Json = {"name": "w.bin", "size_bytes": len(BYTES), "sha256": hashlib.sha256(BYTES).hexdigest()}


def offering(
    file: Json, url: str = "{base}/file", name: str = "w.bin", content: bytes = BYTES
) -> Callable[[Asked], Answer]:
    def answer(asked: Asked) -> Answer:
        path = asked.path.partition("?")[0]
        base = f"http://{asked.headers['host']}"
        if path == "/v1/job/checkpoints":
            item = {"checkpoint_id": "c", "job_id": "j", "tinker_path": "envloop://j/c", "files": [file]}
            return 200, {"items": [item], "next_cursor": None}, {}
        if path == "/v1/job/checkpoints/download":
            return 200, {"urls": {name: url.replace("{base}", base)}}, {}
        assert "authorization" not in asked.headers, "an address of a file needs no key, so it gets none"
        return 200, content, {}

    return answer


def download(served: StandIn, folder: Path, path: str = "envloop://j/c") -> Result:
    environment = {"EVERLOOP_BASE_URL": served.url, "EVERLOOP_API_KEY": "key"}
    return call(environment, "checkpoint", "download", path, str(folder), "--json")


@pytest.mark.parametrize("path", ["c", "envloop://j/c"])
def test_a_checkpoint_is_fetched_by_id_or_path(path: str, stand_in: Make, tmp_path: Path) -> None:
    result = download(stand_in(offering(FILE)), tmp_path / "x", path)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"files": [str(tmp_path / "x" / "w.bin")]}
    assert (tmp_path / "x" / "w.bin").read_bytes() == BYTES


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (offering(FILE, content=b"changed"), "CHECKPOINT_CORRUPT"),
        (offering(FILE, content=BYTES * 1000), "CHECKPOINT_CORRUPT"),
        (offering(FILE | {"name": "../w.bin"}), "INVALID_RESPONSE"),
        (offering(FILE | {"name": "/etc/w.bin"}), "INVALID_RESPONSE"),
        (offering(FILE, name="other.bin"), "INVALID_RESPONSE"),
        (offering(FILE, url="http://192.0.2.1/file"), "INVALID_RESPONSE"),
        (offering(FILE, url="file:///etc/passwd"), "INVALID_RESPONSE"),
        (offering(FILE | {"sha256": None}), "INVALID_RESPONSE"),
    ],
)
def test_files_that_are_not_as_listed_are_not_kept(
    answer: Callable[[Asked], Answer], code: str, stand_in: Make, tmp_path: Path
) -> None:
    result = download(stand_in(answer), tmp_path / "x")
    assert result.exit_code == 1 and result.stderr.startswith(f"{code}: ")
    assert not (tmp_path / "x").exists() or list((tmp_path / "x").iterdir()) == []


def test_a_checkpoint_that_is_not_there_is_exit_code_3(stand_in: Make, tmp_path: Path) -> None:
    result = download(stand_in(offering(FILE)), tmp_path / "x", "envloop://j/other")
    assert result.exit_code == 3 and result.stderr.startswith("CHECKPOINT_NOT_FOUND: ")
