from __future__ import annotations

import fcntl
import json
import os
import pty
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from scripted import Reply, Request, ScriptedServer

from everloop.cli import main

KEY = "sk-test-0123456789-not-for-others"
CODE = "from everloop.cli.model import model; model()"
FREE = ("--input-price", "0", "--output-price", "0")


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    def answer(request: Request) -> Reply:
        return Reply("ready") if request.headers.get("authorization") == f"Bearer {KEY}" else Reply(fault="401")

    with ScriptedServer(answer) as running:
        yield running


def el(*arguments: str, given: str | None = None) -> Result:
    done = CliRunner().invoke(main.el, list(arguments), input=given)
    assert KEY not in done.output
    return done


def told(*arguments: str, given: str | None = None) -> Any:
    done = el(*arguments, "--json", given=given)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def holders(home: Path) -> list[str]:
    """Files of the installation that hold the key."""
    files = (path for path in home.rglob("*") if path.is_file())
    return [str(path.relative_to(home)) for path in files if KEY.encode() in path.read_bytes()]


def test_a_model_goes_from_add_to_remove_and_its_key_is_in_one_file_only(
    server: ScriptedServer, everloop_home: Path
) -> None:
    add = ("model", "add", "mine", "--model", "scripted", "--base-url", server.url, "--key-stdin", *FREE)
    added = told(*add, "--for", "operator", "--for", "auditor", "--set", "temperature=0.2", given=f"{KEY}\n")
    assert added["updated"] is False
    assert added["key_source"] == "file"
    assert holders(everloop_home) == [f"keys/{added['key_name']}"]

    listed = told("model", "list")["models"]
    assert listed == [{name: value for name, value in added.items() if name != "updated"}]
    assert listed[0]["uses"] == ["operator", "auditor"]
    assert listed[0]["settings"] == {"temperature": 0.2}
    assert told("model", "show", "mine") == listed[0]

    tried = told("model", "test", "mine")
    assert (tried["answer"], tried["usd"], tried["requests"]) == ("ready", 0.0, 1)

    walked = json.loads(el("doctor", "--json").stdout)
    assert [check["result"] for check in walked["checks"] if check["check"].startswith("model ")] == ["ok"] * 5

    for shown in (("model", "list"), ("model", "show", "mine"), ("model", "test", "mine"), ("doctor",)):
        assert "mine" in el(*shown).output

    assert el("model", "remove", "mine").exit_code == 0
    assert told("model", "list") == {"models": []}
    assert holders(everloop_home) == []


def test_adding_again_updates_and_says_so() -> None:
    add = ("model", "add", "mine", "--model", "a", "--base-url", "http://127.0.0.1:1/v1", *FREE)
    assert el(*add).output.startswith("Added mine.")
    again = el(*add, "--max-tokens", "99", "--concurrency", "2", "--requests-per-minute", "30")
    assert again.output.startswith("Updated mine.")
    (listed,) = told("model", "list")["models"]
    assert (listed["max_tokens"], listed["concurrency"], listed["requests_per_minute"]) == (99, 2, 30)


def test_a_variable_is_kept_by_its_name(
    server: ScriptedServer, everloop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", KEY)
    added = told("model", "add", "mine", "--model", "x", "--base-url", server.url, "--key-env", "ACME_KEY", *FREE)
    assert (added["key_source"], added["key_name"]) == ("environment", "ACME_KEY")
    assert told("model", "test", "mine")["answer"] == "ready"
    assert holders(everloop_home) == []
    monkeypatch.delenv("ACME_KEY")
    done = el("model", "test", "mine")
    assert done.exit_code == 1
    assert "MODEL_NOT_CONFIGURED" in done.output
    assert "ACME_KEY" in done.output


def test_a_key_given_in_place_of_a_variable_is_not_repeated(everloop_home: Path) -> None:
    done = el("model", "add", "mine", "--model", "x", "--key-env", KEY, *FREE)
    assert done.exit_code == 1
    assert "not the key" in done.output
    assert holders(everloop_home) == []


def test_no_option_takes_a_key() -> None:
    from everloop.cli.model import model

    add = model.get_command(None, "add")  # type: ignore[arg-type]
    assert add is not None
    names = {option for parameter in add.params for option in parameter.opts if "key" in option}
    assert names == {"--key-env", "--key-stdin"}
    assert next(parameter for parameter in add.params if parameter.name == "key_stdin").is_flag  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--key-env", "A", "--key-stdin"), "not both"),
        (("--set", "temperature"), "KEY=JSON is needed"),
        (("--set", "temperature=warm"), "needs a JSON value"),
        (("--set", "temperature=NaN"), "needs a JSON value"),
        (("--set", "seed=1", "--set", "seed=2"), "given twice"),
        (("--for", "teacher"), "'teacher' is not one of"),
        (("--input-price", "-1"), "is not in the range"),
    ],
)
def test_wrong_options_are_a_wrong_command(options: tuple[str, ...], said: str) -> None:
    done = el("model", "add", "mine", "--model", "x", *options)
    assert done.exit_code == 2
    assert said in done.output


def test_a_model_without_a_known_price_is_refused_with_the_options_that_set_one() -> None:
    done = el("model", "add", "mine", "--model", "no-such-model")
    assert done.exit_code == 1
    assert "MODEL_NOT_CONFIGURED" in done.output
    assert "--input-price and --output-price" in done.output
    assert told("model", "list") == {"models": []}


def test_a_list_price_does_not_hold_at_another_endpoint() -> None:
    add = ("model", "add", "mine", "--model", "gpt-4o-mini", "--base-url")
    for url in ("https://openai.example.com/v1", "http://127.0.0.1:8000/v1", "https://notopenai.com/v1"):
        done = el(*add, url)
        assert done.exit_code == 1
        assert "--input-price and --output-price" in done.output
    assert told("model", "list") == {"models": []}
    assert el(*add, "https://eu.api.openai.com/v1").exit_code == 0


def test_registering_the_local_model_replaces_no_model_of_the_owner() -> None:
    mine = ("model", "add", "smollm2", "--model", "mine", "--base-url", "http://127.0.0.1:1/v1", *FREE)
    assert el(*mine).exit_code == 0
    done = el("model", "serve-local", "--register")
    assert (done.exit_code, "RSI_CONFLICT" in done.output) == (4, True)
    assert told("model", "list")["models"][0]["model"] == "mine"


def test_plain_http_to_a_distant_host_needs_to_be_accepted() -> None:
    add = ("model", "add", "mine", "--model", "x", "--base-url", "http://models.example.com/v1", *FREE)
    assert "--allow-http" in el(*add).output
    assert el(*add, "--allow-http").exit_code == 0


def test_without_models_the_list_says_how_to_add_one() -> None:
    assert "el model add" in el("model", "list").output


def test_the_local_model_is_served_registered_walked_to_and_asked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ready = tmp_path / "ready"
    arguments = ["serve-local", "--port", str(port), "--ready-file", str(ready), "--slots", "2", "--register"]
    with subprocess.Popen([sys.executable, "-c", CODE, *arguments], stderr=subprocess.PIPE, text=True) as running:
        try:
            deadline = time.monotonic() + 60
            while not ready.exists() and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            assert json.loads(ready.read_text())["url"] == f"http://127.0.0.1:{port}/v1"
            (entry,) = told("model", "list")["models"]
            walked = json.loads(el("doctor", "--json").stdout)["checks"]
            tried = told("model", "test", "smollm2")
        finally:
            running.terminate()
            said = running.communicate(timeout=30)[1]
    assert running.returncode == 0, said
    assert "Added smollm2." in said
    assert f"Serving on http://127.0.0.1:{port}/v1; Ctrl-C ends it.\n" in said
    assert (entry["name"], entry["uses"], entry["concurrency"]) == ("smollm2", ["student"], 2)
    assert (entry["input_usd_per_mtok"], entry["output_usd_per_mtok"]) == (0.0, 0.0)
    assert entry["settings"] == {"temperature": 0.0, "seed": 0}
    found = {check["check"]: check for check in walked if check["check"].startswith("model ")}
    assert [check["result"] for check in found.values()] == ["ok"] * 5, found
    assert tried["answer"]
    assert tried["usd"] == 0.0


def test_the_command_knows_the_local_model() -> None:
    from everloop.cli import model
    from everloop.gateway import local

    assert (model.PORT, model.MOST_SLOTS) == (local.PORT, local.MOST_SLOTS)


def test_a_port_that_is_not_known_is_not_registered() -> None:
    done = el("model", "serve-local", "--port", "0", "--register")
    assert done.exit_code == 2
    assert told("model", "list") == {"models": []}


def test_a_local_model_that_is_not_installed_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    from everloop.gateway import local

    def missing(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(local, "distribution", missing)
    done = el("model", "serve-local", "--register")
    assert done.exit_code == 1
    assert "UNAVAILABLE" in done.output
    assert told("model", "list") == {"models": []}


def test_the_line_that_serving_prints_configures_the_same_model() -> None:
    from everloop.cli.model import _document, _line
    from everloop.service import local_model

    entry = local_model.entry("http://127.0.0.1:8123/v1", 2)
    assert el(*_line(entry).split()[1:]).exit_code == 0
    assert told("model", "list")["models"] == [_document(entry)]


def test_a_key_is_asked_for_without_echo_at_a_terminal(everloop_home: Path) -> None:
    ours, theirs = pty.openpty()
    arguments = ["add", "mine", "--model", "x", "--base-url", "http://127.0.0.1:1/v1", "--key-stdin", *FREE]

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_terminal,
    ) as running:
        os.close(theirs)
        shown = b""
        while b"API key" not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, f"{KEY}\n".encode())
        try:
            while part := os.read(ours, 1024):
                shown += part
        except OSError:
            pass  # Linux says so when the other end is closed
        assert running.wait(30) == 0, shown
    os.close(ours)
    assert b"Added mine." in shown
    assert KEY.encode() not in shown
    assert len(holders(everloop_home)) == 1
