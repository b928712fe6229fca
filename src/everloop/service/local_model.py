"""The small model of this machine as a configured student, and served for as long as a command needs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from everloop.errors import Conflict, ModelNotConfigured, ModelUnavailable
from everloop.gateway.base import ModelEntry, Use
from everloop.service import models
from everloop.service.installation import Installation

NAME = "smollm2"
"""Name under which it is configured."""
STARTING_SECONDS = 120.0
"""Longest that it may take to begin answering."""
ENDING_SECONDS = 10.0
"""Longest that it may take to end before it is killed."""
ASKING_SECONDS = 2.0
"""Longest wait for an endpoint to tell which models it has."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts at which a local model can be."""
_MOST = 1 << 16
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


class There(Enum):
    """What is at an address."""

    NOTHING = auto()
    """Nobody listens."""
    OURS = auto()
    """The local model answers."""
    OTHER = auto()
    """Somebody else has the port."""


def refuse_foreign(known: ModelEntry | None) -> None:
    """Conflict when the name is taken by another model than the local one."""
    from everloop.gateway.local import MODEL

    if known is None or (known.model == MODEL and urlsplit(known.base_url).hostname in LOOPBACK):
        return
    why = f"it is configured as {known.model!r}" + (f" at {known.base_url}" if known.base_url else "")
    then = f"Add that model under another name, then run: el model remove {NAME}"
    raise Conflict(f"the name {NAME} is taken by another model", why=why, then=then)


@contextmanager
def served(installation: Installation) -> Iterator[str]:
    """The name of the local model while it answers: one that is served already, or one that is served meanwhile.

    Unavailable when a part is not installed, ModelUnavailable when it does not begin to answer, Conflict when its name
    or its port is taken: where it is served is part of a run's protocol, so a configured one is never moved.
    """
    known = _configured(installation)
    refuse_foreign(known)
    there = There.NOTHING if known is None else at(known.base_url)
    if there is There.OURS:
        yield NAME
        return
    if known is not None and there is There.OTHER:
        why = f"something else answers at {known.base_url}, where {NAME} is configured"
        then = f"End what listens there; or, if no run is to go on with it: el model remove {NAME}"
        raise Conflict("the local model cannot be served", why=why, then=then)
    with tempfile.TemporaryDirectory() as folder:
        process = _start(Path(folder) / "ready", None if known is None else urlsplit(known.base_url).port or 80)
        try:
            url = _ready(process, Path(folder) / "ready")
            if known is None:
                models.add(installation, entry(url), None)
            elif at(known.base_url) is not There.OURS:
                why = f"it is served at {url}, and {NAME} is configured at {known.base_url}"
                raise Conflict("the local model is not where it should be", why=why, then=f"el model remove {NAME}")
            yield NAME
        finally:
            _end(process)


def _configured(installation: Installation) -> ModelEntry | None:
    try:
        return models.find(installation, NAME)
    except ModelNotConfigured:
        return None


def at(url: str) -> There:
    """What is at a base URL, by the models it says it has; no proxy is asked."""
    from everloop.gateway.local import MODEL

    try:
        with build_opener(ProxyHandler({})).open(f"{url.rstrip('/')}/models", timeout=ASKING_SECONDS) as answer:
            told = json.loads(answer.read(_MOST))
        named = {one["id"] for one in told["data"]}
    except URLError as error:
        refused = not isinstance(error, HTTPError) and isinstance(error.reason, ConnectionRefusedError)
        return There.NOTHING if refused else There.OTHER
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return There.OTHER  # no answer, or none of a server of models
    return There.OURS if MODEL in named else There.OTHER


def _start(ready: Path, port: int | None) -> subprocess.Popen[bytes]:
    """Serve it at the port it is configured with (the port is part of a student's identity), else at a free one."""
    from everloop.gateway.local import PORT, weights

    weights()
    wanted = port or (PORT if at(f"http://127.0.0.1:{PORT}/v1") is There.NOTHING else 0)
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it, by force if need be: it hears no signal while its engine loads."""
    process.terminate()
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    finally:
        if process.stdin is not None:
            process.stdin.close()  # a second interrupt of ours ends it too
        if process.poll() is None:
            process.kill()
        process.wait()
