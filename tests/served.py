"""A real `el up` for tests: processes of its own, a free port, the database and home that a test chooses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import psutil

from everloop.service.caller import LOCAL
from everloop.service.installation import Installation, open_installation
from everloop.service.keys import KeyRequest, create_key
from everloop.service.permissions import KeyKind
from everloop.settings import Settings

EL = [sys.executable, "-m", "everloop.cli.main"]
PATIENCE = 120.0


class Served:
    """``with Served(tmp_path / "home") as server: server.get("/v1/me")``; ends with the block, by SIGTERM.

    ``workers=0`` serves without a worker, which starts faster. `environment` is added to ours, whose own settings of
    Everloop and of the vendor's client are left out. `command` is ``up`` or ``serve``; a served one has no key.
    """

    def __init__(
        self, home: Path, database_url: str = "", *, workers: int = 1, command: str = "up", **environment: str
    ) -> None:
        self.home, self.workers, self.command = home, workers, command
        self.output = home.parent / f"{home.name}-output.log"
        """What `el` itself printed."""
        self.environment = {name: value for name, value in os.environ.items() if not _ours(name)}
        self.environment |= {"EVERLOOP_HOME": str(home), **environment}
        if database_url:
            self.environment["EVERLOOP_DATABASE_URL"] = database_url
        self.url = self.key = self.workspace = self.project = ""
        self.process: subprocess.Popen[bytes]

    @property
    def logs(self) -> str:
        """Everything that was printed or logged by any of its processes."""
        files = [self.output, self.home / "server.log", self.home / "worker.log"]
        return "\n".join(file.read_text(errors="replace") for file in files if file.exists())

    @property
    def link(self) -> str:
        """The one-time sign-in link that was printed."""
        return next(word for word in self.output.read_text().split() if "/sign-in/link?token=" in word)

    def start(self, *arguments: str) -> None:
        """Start, and wait until it answers; `arguments` are added to the command."""
        ready = self.home.parent / f"{self.home.name}-ready.json"
        ready.unlink(missing_ok=True)
        words = [self.command, "--ready-file", str(ready), *([] if "--port" in arguments else ["--port", "0"])]
        if self.command == "up":
            words += ["--workers", str(self.workers)] if self.workers else ["--no-worker"]
        with self.output.open("ab") as told:
            self.process = subprocess.Popen(
                [*EL, *words, *arguments], stdin=subprocess.DEVNULL, stdout=told, stderr=told, env=self.environment
            )
        deadline = time.monotonic() + PATIENCE
        while not ready.exists():
            assert self.process.poll() is None, self.logs
            assert time.monotonic() < deadline, self.logs
            time.sleep(0.02)
        document = json.loads(ready.read_text())
        self.url, self.key = document["url"], document.get("api_key", "")
        self.workspace, self.project = document.get("workspace_id", ""), document.get("project_id", "")

    def children(self) -> dict[str, list[psutil.Process]]:
        """Its processes by module, e.g. ``everloop.server``."""
        found: dict[str, list[psutil.Process]] = {}
        for child in psutil.Process(self.process.pid).children():
            found.setdefault(child.cmdline()[4], []).append(child)
        return found

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def el(self, *words: str, text: str = "", check: bool = True) -> str:
        """What a command of this account prints."""
        done = subprocess.run(
            [*EL, *words], input=text, capture_output=True, text=True, env=self.environment, timeout=PATIENCE
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def installation(self) -> Iterator[Installation]:
        """The installation it serves, opened here as well."""
        url = self.environment.get("EVERLOOP_DATABASE_URL", "")
        opened = open_installation(Settings(home=self.home, database_url=url))
        try:
            yield opened
        finally:
            opened.close()

    def new_key(self, kind: str = "automation", *permissions: str, project: str | None = None) -> str:
        """A new key; `permissions` are those of the kind ``custom``."""
        with self.installation() as opened:
            request = KeyRequest(kind=KeyKind(kind), permissions=permissions)
            return create_key(opened, request, LOCAL, project)[0]

    def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> httpx2.Response:
        """One request; `key`: another key than its own, "" for none."""
        key = self.key if key is None else key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with httpx2.Client(timeout=30, trust_env=False) as client:
            return client.request(method, self.url + path, json=body, headers=headers)

    def get(self, path: str, *, key: str | None = None) -> httpx2.Response:
        """GET."""
        return self.request("GET", path, key=key)

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> httpx2.Response:
        """POST of a JSON document."""
        return self.request("POST", path, body, key=key)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is not None:
            return
        status = self.stop()
        assert error is not None or status == 0, f"exit status {status}: {self.logs}"


def _ours(name: str) -> bool:
    return name.startswith(("EVERLOOP_", "ENVLOOP_", "ENVPLATFORM_"))
