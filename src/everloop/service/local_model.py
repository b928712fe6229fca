"""The small model of this machine as a configured student, and served for as long as a command needs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from everloop.errors import ModelNotConfigured, ModelUnavailable
from everloop.gateway.base import ModelEntry, Use
from everloop.service import models
from everloop.service.installation import Installation

NAME = "smollm2"
"""Name under which it is configured."""
STARTING_SECONDS = 120.0
"""Longest that it may take to begin answering."""
_PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
"""All that its process sees of the environment; keys and passwords lie elsewhere in it."""


def entry(base_url: str, slots: int = 1) -> ModelEntry:
    """The entry of the local model at an endpoint: free of charge, greedy, one request at a time for each slot."""
    from everloop.gateway.local import MODEL

    return ModelEntry(
        name=NAME,
        provider="openai",
        model=MODEL,
        base_url=base_url,
        uses=(Use.STUDENT,),
        input_usd_per_mtok=0.0,
        output_usd_per_mtok=0.0,
        max_tokens=256,
        concurrency=slots,
        settings={"temperature": 0.0, "seed": 0},
    )


@contextmanager
def served(installation: Installation) -> Iterator[str]:
    """The name of the local model while it answers: one that is served already, or one that is served meanwhile.

    Unavailable when a part is not installed, ModelUnavailable when it does not begin to answer.
    """
    known = _configured(installation)
    if known is not None and _listens(known.base_url):
        yield known.name
        return
    port = urlsplit(known.base_url).port if known is not None else None
    with tempfile.TemporaryDirectory() as folder:
        process = _start(Path(folder) / "ready", port)
        try:
            url = _ready(process, Path(folder) / "ready")
            models.add(installation, entry(url), None)
            yield NAME
        finally:
            process.terminate()
            process.communicate()


def _configured(installation: Installation) -> ModelEntry | None:
    try:
        return models.find(installation, NAME)
    except ModelNotConfigured:
        return None


def _listens(url: str) -> bool:
    address = urlsplit(url)
    try:
        with socket.create_connection((address.hostname or "", address.port or 80), timeout=1):
            return True
    except OSError:
        return False


def _start(ready: Path, port: int | None) -> subprocess.Popen[bytes]:
    """Serve it at the port it is configured with (the port is part of a student's identity), else at a free one."""
    from everloop.gateway.local import PORT, weights

    weights()
    wanted = port or (0 if _listens(f"http://127.0.0.1:{PORT}") else PORT)
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    command = [sys.executable, "-P", "-m", "everloop.gateway.local", "--port", str(wanted), "--ready", str(ready)]
    command.append("--with-parent")  # its input is ours to hold: it ends when we do, however that is
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, process_group=0
    )


def _ready(process: subprocess.Popen[bytes], ready: Path) -> str:
    deadline = time.monotonic() + STARTING_SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            why = "it ended" if process.poll() is not None else f"not within {STARTING_SECONDS:g} s"
            then = "Run `el model serve-local` to see what it says"
            raise ModelUnavailable("the local model did not begin to answer", why=why, then=then)
        time.sleep(0.05)
    return str(json.loads(ready.read_text())["url"])
