"""A real server in a process of its own, and a stand-in whose answers a test chooses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from everloop.events import Event, EventKind, Json
from everloop.service import first_start, keys, run_start
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind
from everloop.settings import Settings
from everloop.store import events
from everloop.store import runs as stored_runs

SECONDS = 60.0
"""Longest wait for a server to answer."""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class RealServer:
    """`el serve` over an installation in `home`; it can be killed and started again on the same port."""

    home: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.installation: Installation = open_installation(Settings(home=self.home))
        first_start.ensure(self.installation)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        ready = self.home / "ready.json"
        ready.unlink(missing_ok=True)
        argv = [sys.executable, "-m", "everloop.cli.main", "serve", "--port", str(self.port)]
        environment = os.environ | {"EVERLOOP_HOME": str(self.home)}
        self.process = subprocess.Popen(
            [*argv, "--ready-file", str(ready)], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + SECONDS
        while not ready.exists():
            assert self.process.poll() is None and time.monotonic() < until, "the server did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def close(self) -> None:
        self.kill()
        self.installation.close()

    def key(self, kind: KeyKind = KeyKind.AUTOMATION) -> str:
        return keys.create_key(self.installation, KeyRequest(name="test", kind=kind), LOCAL)[0]

    def environment(self, key: str | None = None) -> dict[str, str]:
        """Variables with which a command reaches the server."""
        return {"EVERLOOP_BASE_URL": self.url, "EVERLOOP_API_KEY": key or self.key()}

    def run(self, run: str, extra: int = 0, state: str | None = None) -> None:
        """A run of the store alone, with so many events besides its first, in that state."""
        run_start.start_document(
            self.installation,
            {"run": run, "brief": "b", "domain": "synthetic", "limits": {"model_usd_cap": 1}},
        )
        self.happen(run, extra)
        if state is not None:
            self.end(run, state)

    def happen(self, run: str, count: int, text: str = "event") -> None:
        told = [Event(EventKind.MESSAGE, f"{text} {place}") for place in range(count)]
        with self.installation.database.write() as tx:
            events.append(tx, run, *told)

    def end(self, run: str, state: str = "finished") -> None:
        with self.installation.database.write() as tx:
            stored_runs.update(tx, run, state=state)


@dataclass(frozen=True)
class Asked:
    """A request that the stand-in got."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


Answer = tuple[int, object, dict[str, str]]
"""Status, body (bytes as they are, else as JSON), headers."""


class StandIn:
    """A server that answers what `answer` says; requests are kept in order."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        asked: list[Asked] = []
        self.asked = asked

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *told: object) -> None:
                """Nothing: a test looks at what was asked."""

            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                lowered = {name.lower(): value for name, value in self.headers.items()}
                request = Asked(self.command, self.path, lowered, body)
                asked.append(request)
                status, document, headers = answer(request)
                content = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = do  # noqa: N815 - names the base class asks for

        class Server(ThreadingHTTPServer):
            def handle_error(self, *told: object) -> None:
                """Nothing: a client may hang up."""

        self._server = Server(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
