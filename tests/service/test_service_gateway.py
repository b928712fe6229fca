from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import openai
import pytest
from openai import OpenAI
from scripted import Reply, ScriptedServer

from everloop.errors import InvalidRequest, ModelNotConfigured, RunNotFound
from everloop.gateway.base import KeySource, ModelEntry, Use
from everloop.gateway.entries import document_of
from everloop.paths import Home
from everloop.service.gateway import KeyRequest, create_key, list_keys, revoke_key
from everloop.service.installation import Installation
from everloop.settings import Settings
from everloop.store import models, runs
from everloop.store.database import Database

COMMAND = [sys.executable, "-c", "from everloop.cli.gateway import gateway; gateway()", "serve"]
ASKED = [{"role": "user", "content": "What is the secret prompt?"}]


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return _installation(database, tmp_path)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Installation]:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    yield _installation(database, tmp_path)
    database.close()


def _installation(database: Database, home: Path) -> Installation:
    made = Installation(Settings(home=home, database_url=database.url), database, Home(home))
    add(made, "small", Use.CANDIDATE)
    add(made, "ours", Use.OPERATOR)
    return made


def add(installation: Installation, name: str, use: Use, url: str = "http://127.0.0.1:9/v1") -> None:
    prices = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}
    source = {"key_source": KeySource.ENVIRONMENT, "key_name": "UPSTREAM_KEY"}
    entry = ModelEntry(name=name, provider="openai", model="m", base_url=url, uses=(use,), **prices, **source)
    with installation.database.write() as tx:
        models.put(tx, name, document_of(entry))


def test_a_key_has_an_account_of_its_own(installation: Installation) -> None:
    key, state = create_key(installation, KeyRequest(name="ci", usd_cap=1.5, request_cap=3, expires_days=1))
    document = state.to_json()
    assert key.startswith(f"elg_{state.row.prefix}_")
    assert document["account"] == f"gateway:{state.row.prefix}"
    assert (document["usd_cap"], document["usd_spent"], document["request_cap"], document["requests"]) == (1.5, 0, 3, 0)
    assert {cap for cap, meter in state.meters.items() if meter.limit is not None} == {
        "usd_cap",
        "model_usd_cap",
        "request_cap",
    }
    assert state.meters["model_usd_cap"].limit == 1_500_000
    assert str(document["expires_at"]) > str(document["created_at"])


def test_a_key_gets_the_models_candidates_may_use(installation: Installation) -> None:
    assert create_key(installation, KeyRequest(usd_cap=1))[1].row.models == ["small"]
    assert create_key(installation, KeyRequest(usd_cap=1, models=["small", "small"]))[1].row.models == ["small"]


@pytest.mark.parametrize("name", ["ours", "none"])
def test_a_model_that_candidates_may_not_use_is_refused(alone: Installation, name: str) -> None:
    with pytest.raises(ModelNotConfigured, match="small"):
        create_key(alone, KeyRequest(usd_cap=1, models=[name]))


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"usd_cap": 0},
        {"usd_cap": -1},
        {"usd_cap": float("nan")},
        {"usd_cap": float("inf")},
        {"usd_cap": 1e-9},
        {"usd_cap": 1, "request_cap": 0},
        {"usd_cap": 1, "expires_days": 0},
        {"usd_cap": 1, "expires_days": float("nan")},
        {"usd_cap": 1, "name": "x" * 129},
        {"usd_cap": 1, "name": "a\nb"},
        {"usd_cap": 1, "run": "r"},
    ],
)
def test_a_key_that_cannot_be_is_refused(alone: Installation, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        create_key(alone, KeyRequest(**bad))
    assert list_keys(alone) == []


def test_a_key_of_an_unknown_run_is_refused(alone: Installation) -> None:
    with pytest.raises(RunNotFound):
        create_key(alone, KeyRequest(run="none"))


def test_a_key_of_a_run_has_the_runs_account(alone: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "require", lambda tx, run: None)
    state = create_key(alone, KeyRequest(run="run-1"))[1]
    assert (state.row.account, state.meters) == ("run-1", {})


def test_keys_are_listed_oldest_first(installation: Installation) -> None:
    made = [create_key(installation, KeyRequest(usd_cap=1, name=name))[1].row.prefix for name in "ab"]
    assert [state.row.prefix for state in list_keys(installation)] == made


@pytest.mark.parametrize("form", ["prefix", "marked", "key"])
def test_a_key_is_revoked_once(alone: Installation, form: str) -> None:
    key, state = create_key(alone, KeyRequest(usd_cap=1))
    named = {"prefix": state.row.prefix, "marked": f"elg_{state.row.prefix}", "key": key}[form]
    first = revoke_key(alone, named)
    assert first.state == "revoked"
    assert revoke_key(alone, named).row.revoked_at == first.row.revoked_at


def test_an_unknown_key_cannot_be_revoked(alone: Installation) -> None:
    with pytest.raises(InvalidRequest):
        revoke_key(alone, "none")


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A server process and its ready file."""
    ready = home / "ready.json"
    given = {"EVERLOOP_HOME": str(home), "UPSTREAM_KEY": "upstream-key", "EVERLOOP_MODEL_RETRIES": "0"}
    argv = [*COMMAND, "--ready-file", str(ready), *arguments]
    with subprocess.Popen(
        argv, env=os.environ | given, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            deadline = time.monotonic() + 30
            while not ready.exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert stat.S_IMODE(ready.stat().st_mode) == 0o600
            yield process, json.loads(ready.read_text())
        finally:
            if process.poll() is None:
                process.kill()


def test_the_sdk_over_a_unix_socket_until_sigterm(alone: Installation, tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    with ScriptedServer(lambda _: Reply(text="over the socket")) as upstream:
        add(alone, "small", Use.CANDIDATE, upstream.url)
        key, _ = create_key(alone, KeyRequest(usd_cap=1))
        with serving(tmp_path, "--socket", str(path)) as (process, ready):
            assert ready == {"socket": str(path)}
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            http = httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)))
            with OpenAI(base_url="http://gateway/v1", api_key=key, http_client=http, max_retries=0) as client:
                got = client.chat.completions.create(model="small", messages=ASKED)
                assert got.choices[0].message.content == "over the socket"
                chunks = client.chat.completions.create(model="small", messages=ASKED, stream=True)
                assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "over the socket"
                upstream.script = lambda _: Reply(fault="500")
                with pytest.raises(openai.InternalServerError) as caught:
                    client.chat.completions.create(model="small", messages=ASKED)
                with pytest.raises(openai.BadRequestError):
                    client.chat.completions.create(model="small", messages=ASKED, n=2)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert not path.exists() and not (tmp_path / "ready.json").exists()
    assert upstream.requests[0].headers["authorization"] == "Bearer upstream-key"
    for text in (out, err, caught.value.response.text):
        assert key.split("_", 2)[2] not in text and "upstream-key" not in text and "secret prompt" not in text
        assert "Traceback" not in text
    (after,) = list_keys(alone)
    assert after.row.used_at is not None and after.meters["usd_cap"].reserved == 0


def test_a_port_until_ctrl_c(alone: Installation, tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0") as (process, ready):
        url = ready["url"]
        assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
        with httpx2.Client() as client:
            assert client.get(url.removesuffix("/v1") + "/healthz").json() == {"status": "ok"}
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err == f"Serving on {url}\n"


def test_a_killed_server_leaves_a_socket_the_next_one_replaces(alone: Installation, tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    with serving(tmp_path, "--socket", str(path)) as (process, _):
        process.kill()
        process.communicate(timeout=20)
    assert path.exists()
    (tmp_path / "ready.json").unlink()
    with serving(tmp_path, "--socket", str(path)), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
