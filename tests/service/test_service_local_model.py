"""The local model as a configured student; the real one once, a small server in its place elsewhere."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from everloop.errors import Conflict, ModelUnavailable
from everloop.gateway.base import ModelEntry
from everloop.gateway.local import MODEL
from everloop.paths import Home
from everloop.service import local_model, models
from everloop.service.installation import Installation
from everloop.service.local_model import There
from everloop.settings import Settings
from everloop.store.database import Database

DEAF = "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); time.sleep(1000)"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    yield Installation(Settings(home=tmp_path), database, Home(tmp_path))
    database.close()


@contextmanager
def listing(*names: str, status: int = 200) -> Iterator[str]:
    """A server that says it has these models; its base URL."""

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"data": [{"id": name} for name in names]}).encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Listing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def configured(installation: Installation, url: str, **more: object) -> ModelEntry:
    return models.add(installation, replace(local_model.entry(url), **more), None)


def test_an_address_is_known_by_the_models_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with listing("another", MODEL) as url:
        assert local_model.at(url) is There.OURS
    with listing("another") as url:
        assert local_model.at(url) is There.OTHER
    with listing(MODEL, status=500) as url:
        assert local_model.at(url) is There.OTHER
    assert local_model.at(f"http://127.0.0.1:{free_port()}/v1") is There.NOTHING


def test_a_server_that_does_not_answer_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "ASKING_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert local_model.at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1") is There.OTHER


def test_one_that_is_served_already_is_used(installation: Installation) -> None:
    with listing(MODEL) as url:
        entry = configured(installation, url, concurrency=3)
        with local_model.served(installation) as name:
            assert models.find(installation, name) == entry


def test_another_server_at_its_port_is_never_taken_for_it(installation: Installation) -> None:
    with listing("qwen") as url:
        entry = configured(installation, url)
        with pytest.raises(Conflict, match="something else answers"), local_model.served(installation):
            pass
        assert models.find(installation, "smollm2") == entry


@pytest.mark.parametrize("change", [{"model": "mine"}, {"base_url": "http://10.0.0.1:8765/v1"}, {"base_url": ""}])
def test_a_model_of_the_owner_is_never_replaced(installation: Installation, change: dict[str, str]) -> None:
    entry = configured(installation, "http://127.0.0.1:8765/v1", **change)
    with pytest.raises(Conflict, match="el model remove smollm2"), local_model.served(installation):
        pass
    assert models.find(installation, "smollm2") == entry


def test_an_engine_that_hangs_while_it_loads_is_killed(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(ready: Path, port: int | None) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", DEAF], stdin=subprocess.PIPE))
        return started[0]

    monkeypatch.setattr(local_model, "_start", start)
    monkeypatch.setattr(local_model, "STARTING_SECONDS", 1.0)
    monkeypatch.setattr(local_model, "ENDING_SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(ModelUnavailable), local_model.served(installation):
        pass
    assert time.monotonic() - begun < 20
    assert started[0].returncode is not None


def test_the_real_one_is_served_where_it_is_configured(installation: Installation) -> None:
    entry = configured(installation, f"http://127.0.0.1:{free_port()}/v1", settings={"temperature": 0.0, "seed": 7})
    with local_model.served(installation) as name:
        assert local_model.at(entry.base_url) is There.OURS
        assert models.find(installation, name) == entry
        assert models.test(installation, name)["answer"]
    assert local_model.at(entry.base_url) is There.NOTHING


def test_a_first_one_takes_a_free_port_when_the_usual_one_is_taken(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listing("qwen") as url:
        taken = int(url.split(":")[2].removesuffix("/v1"))
        monkeypatch.setattr("everloop.gateway.local.PORT", taken)
        with local_model.served(installation) as name:
            found = models.find(installation, name)
            assert found.base_url != url
            assert local_model.at(found.base_url) is There.OURS
